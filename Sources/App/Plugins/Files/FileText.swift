// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreBridge
import NacreCore

/// The encodings of Capacitor's `Filesystem`; without one, `data` is base64.
enum FileText: String {
    case utf8, ascii, utf16

    /// - Throws: `OS-PLUG-FILE-0005` for an encoding that is none of these.
    static func named(_ value: JSONValue?) throws -> FileText? {
        guard let value, !value.isNull else { return nil }
        guard let text = value.string, let known = FileText(rawValue: text) else {
            throw FileFault.input.rejection("{encoding} is one of utf8, ascii, utf16")
        }
        return known
    }

    /// The bytes that `data` stands for.
    static func bytes(_ data: String, _ encoding: FileText?) throws -> [UInt8] {
        switch encoding {
        case .utf8: return Array(data.utf8)
        case .ascii:
            guard data.utf8.allSatisfy({ $0 < 0x80 }) else {
                throw FileFault.input.rejection("{data} has characters that ascii has not")
            }
            return Array(data.utf8)
        // With a byte order mark, as both of Capacitor's systems read it.
        case .utf16: return [0xFF, 0xFE] + data.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        case nil:
            var text = data[...]
            if text.hasPrefix("data:"), let mark = text.firstRange(ofText: ";base64,") {
                text = text[mark.upperBound...]
            }
            guard let bytes = Base64.decode(text) else {
                throw FileFault.input.rejection("{data} is not base64; give {encoding} for text")
            }
            return bytes
        }
    }

    /// The text of a file's bytes, or base64 without an encoding; what does not decode is replaced by U+FFFD.
    static func text(_ bytes: [UInt8], _ encoding: FileText?) -> String {
        switch encoding {
        case .utf8: return String(decoding: bytes, as: UTF8.self)
        case .ascii:
            return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0 < 0x80 ? UInt32($0) : 0xFFFD)! }))
        case .utf16:
            // Big-endian where no mark says otherwise (RFC 2781 section 4.3).
            let little = bytes.starts(with: [0xFF, 0xFE])
            let rest = little || bytes.starts(with: [0xFE, 0xFF]) ? bytes.dropFirst(2) : bytes[...]
            let units = stride(from: rest.startIndex, to: rest.endIndex - 1, by: 2).map { index -> UInt16 in
                let (a, b) = (UInt16(rest[index]), UInt16(rest[index + 1]))
                return little ? b << 8 | a : a << 8 | b
            }
            return String(decoding: units, as: UTF16.self)
        case nil: return Base64.encode(bytes)
        }
    }
}
