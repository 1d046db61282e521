// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP

/// What one answer says about a download that stands at `received` bytes.
enum DownloadAnswer: Equatable {
    /// The whole thing from its first byte, with its size where that is known.
    case whole(size: Int?)
    /// What is missing, from `received` on.
    case rest(size: Int?)
    /// Nothing is missing.
    case complete
    /// What stands on disk is of another version, or the answer makes no sense for it: begin again.
    case restart
    /// There is nothing to be had.
    case refused(NacreError.Code, String)

    /// - Parameters:
    ///   - validator: what the bytes on disk were marked with; nil while there are none.
    init(_ response: HTTPResponse, received: Int, validator: String?, size: Int?) {
        let range = ContentRange(response.fields["Content-Range"])
        switch response.status.rawValue {
        case 200, 203: self = .whole(size: response.body.length)
        case 206:
            guard received > 0, let range, let part = range.part else {
                self = received > 0 ? .restart : Self.nonsense; return
            }
            let isNext = part.lowerBound == received  // guard: download-range-start
            let isSame = Self.validator(of: response).map { $0 == validator } ?? true  // guard: download-changed
            let fits = size == nil || range.size == nil || size == range.size  // guard: download-size-changed
            self = isNext && isSame && fits ? .rest(size: range.size ?? size) : .restart
        case 416 where received > 0: self = range?.size == received ? .complete : .restart
        case 401: self = .refused("download.signed_out", "The server wants you to sign in again; then try once more.")
        case 403: self = .refused("download.forbidden", "You may not have this file.")
        case 404, 410: self = .refused("download.missing", "The server no longer has this file.")
        case let status:
            self = .refused(
                "download.refused", "The server refused the download with status \(status); try again later.")
        }
    }

    private static let nonsense = DownloadAnswer.refused(
        "download.range", "The server sent a part of the file that nobody had asked for.")

    /// What `If-Range` may name: a strong entity tag, else the date (RFC 9110 section 13.1.5).
    static func validator(of response: HTTPResponse) -> String? {
        if let tag = response.fields["ETag"] { return tag.hasPrefix("\"") ? tag : nil }
        return response.fields["Last-Modified"]
    }
}

/// A `Content-Range` field (RFC 9110 section 14.4).
struct ContentRange: Equatable {
    /// The bytes that the answer holds; nil in `bytes */size`.
    let part: Range<Int>?
    /// The size of the whole; nil for `*`.
    let size: Int?

    init?(_ field: String?) {
        guard let field, field.lowercased().hasPrefix("bytes "), let slash = field.lastIndex(of: "/") else {
            return nil
        }
        let range = field[field.index(field.startIndex, offsetBy: 6)..<slash].trimmingSpaces()
        let whole = field[field.index(after: slash)...].trimmingSpaces()
        guard let size = Self.number(whole), size != nil || whole == "*" else { return nil }
        self.size = size
        if range == "*" {
            part = nil
            return
        }
        let ends = range.split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Self.number(String(ends[0])) ?? nil,
            let last = Self.number(String(ends[1])) ?? nil,
            first <= last, last < size ?? .max
        else { return nil }
        part = first..<last + 1
    }

    /// `.some(nil)` for `*`, nil for what is no number.
    private static func number(_ text: String) -> Int?? {
        if text == "*" { return .some(nil) }
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let value = Int(text) else {
            return nil
        }
        return .some(value)
    }
}
