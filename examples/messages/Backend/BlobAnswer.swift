// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreHTTP

/// Answers with the bytes of an attachment, in a way that never lets them act as a page of the API's origin.
enum BlobAnswer {
    /// Types that a browser may show in place: pixels only. SVG is a document with scripts, so it is not among them.
    static let pictures: Set<String> = [
        "image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp",
    ]

    static func make(name: String, type: String, bytes: [UInt8]) -> HTTPResponse {
        let type = contentType(type)
        let inline = pictures.contains(type)  // guard: inline-pictures
        return HTTPResponse(
            fields: [
                "Content-Type": type.hasPrefix("text/") ? "\(type); charset=utf-8" : type,
                "Content-Disposition": FileName.disposition(name, inline: inline),
                "X-Content-Type-Options": "nosniff",
                // Should a browser open it in place after all: no script, no request, no origin.
                "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
                "Cache-Control": "no-store",
            ],
            body: .bytes(bytes))
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
