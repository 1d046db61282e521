// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacrePorts

/// What is shared as a mail to write (RFC 6068).
package enum ShareMail {
    package static func address(_ content: ShareContent) -> String {
        let body = [content.text, content.url].compactMap { $0 }.joined(separator: "\r\n")
        var parts: [String] = []
        if let title = content.title { parts.append("subject=" + escape(title)) }
        if !body.isEmpty { parts.append("body=" + escape(body)) }
        return "mailto:" + (parts.isEmpty ? "" : "?" + parts.joined(separator: "&"))
    }

    static func name(of path: String) -> String {
        String(path[(path.lastIndex(of: "/") ?? path.startIndex)...].dropFirst())
    }

    private static func escape(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var out: [UInt8] = []
        for byte in text.utf8 {
            let scalar = Unicode.Scalar(byte)
            let isPlain = scalar.isASCII && (scalar.properties.isAlphabetic || (0x30...0x39).contains(byte))
            if isPlain || "-._~".utf8.contains(byte) {
                out.append(byte)
            } else {
                out += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: out, as: UTF8.self)
    }
}
