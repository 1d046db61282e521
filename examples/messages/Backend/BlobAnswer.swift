// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreHTTP

/// Answers with the bytes of an attachment, in a way that never lets them act as a page of the API's origin.
enum BlobAnswer {
    /// Types that a browser may show in place: pixels only. SVG is a document with scripts, so it is not among them.
    static let pictures: Set<String> = [
        "image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp",
    ]

    /// Should a browser open it in place after all: no script, no request, no origin.
    static let policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

    static func make(_ blob: Blob, download: Bool = false) -> HTTPResponse {
        let type = contentType(blob.type)
        let inline = pictures.contains(type)  // guard: inline-pictures
        var response = HTTPResponse(
            fields: [
                "Content-Type": type.hasPrefix("text/") ? "\(type); charset=utf-8" : type,
                "Content-Disposition": FileName.disposition(blob.name, inline: inline && !download),
                "X-Content-Type-Options": "nosniff", "Content-Security-Policy": policy,
                "Cache-Control": "no-store", "Accept-Ranges": "bytes",
                // An attachment never changes: a download that was cut off can go on where it was.
                "ETag": "\"\(blob.id)\"",
            ],
            body: .bytes(blob.bytes))
        if let range = blob.range {
            response.status = 206
            response.fields["Content-Range"] = "bytes \(range.first)-\(range.first + range.count - 1)/\(blob.size)"
        }
        return response
    }

    /// A range behind the end.
    static func beyond(size: Int) -> HTTPResponse {
        var response = APIFailure(
            status: 416, code: "bad_range", message: "The file has \(size) bytes; ask for a part of them."
        ).response
        response.fields["Content-Range"] = "bytes */\(size)"
        return response
    }

    /// The sender's word for the type where it has the form of one, else "any bytes".
    static func contentType(_ text: String) -> String {
        let halves = text.lowercased().split(separator: "/", omittingEmptySubsequences: false)
        let isType =
            halves.count == 2
            && halves.allSatisfy { half in
                !half.isEmpty && half.utf8.count <= 127
                    && half.utf8.allSatisfy {
                        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
                            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || "!#$&-^_.+".utf8.contains($0)
                    }
            }
        return isType ? text.lowercased() : "application/octet-stream"
    }
}
