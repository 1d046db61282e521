// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore

/// Finds in an HTML document what a Content-Security-Policy has to know: its own policy, and its inline scripts.
///
/// Only as much of HTML's tokenizer as that takes. A script seen where there is none costs nothing: the bundle is trusted,
/// and one hash more in its policy allows nothing that is not in it.
package struct InlineScripts {
    /// A file that the document asks for, as it is written there.
    package struct Reference: Equatable, Sendable {
        /// `script`, `link` or `img`.
        package let element: String
        package let address: String
    }

    /// Whether the document brings a policy of its own (`<meta http-equiv>`).
    package private(set) var hasPolicy = false
    /// The text of each inline script as the browser hashes it.
    package private(set) var scripts: [[UInt8]] = []
    /// The scripts, linked files and pictures that it asks for.
    package private(set) var references: [Reference] = []
    /// How many attributes hold a script, such as `onclick`: no hash allows those.
    package private(set) var handlers = 0
    /// `<base href>`.
    package private(set) var base: String?
    package private(set) var title: String?

    private let bytes: [UInt8]
    private var at = 0

    /// Scans a document.
    package init(_ html: [UInt8]) {
        // The parser turns CRLF and CR into LF before a script's text exists.
        bytes = Self.normalizingLines(html)
        while at < bytes.count { step() }
    }

    private static func normalizingLines(_ html: [UInt8]) -> [UInt8] {
        guard html.contains(0x0D) else { return html }
        var out: [UInt8] = []
        out.reserveCapacity(html.count)
        for (index, byte) in html.enumerated() {
            if byte == 0x0D {
                out.append(0x0A)
            } else if byte != 0x0A || index == 0 || html[index - 1] != 0x0D {
                out.append(byte)
            }
        }
        return out
    }

    private mutating func step() {
        guard bytes[at] == UInt8(ascii: "<") else {
            at += 1
            return
        }
        if starts("<!--") {
            at = position(of: "-->", from: at + 4).map { $0 + 3 } ?? bytes.count
            return
        }
        at += 1
        guard at < bytes.count, isLetter(bytes[at]) else { return }
        let name = word()
        let attributes = self.attributes()
        handlers += attributes.keys.count { $0.hasPrefix("on") }
        switch name {
        case "meta":
            if attributes["http-equiv"]?.lowercased() == "content-security-policy" { hasPolicy = true }
        case "script":
            let text = rawText(endingAt: "script")
            if let source = attributes["src"] { refer(name, source) } else { scripts.append(text) }
        case "link", "img": if let address = attributes["href"] ?? attributes["src"] { refer(name, address) }
        case "base": base = base ?? attributes["href"]
        case "title":
            let text = String(decoding: rawText(endingAt: name), as: UTF8.self)
            title = title ?? text
        case "style", "textarea", "noscript", "iframe", "xmp": _ = rawText(endingAt: name)
        default: break
        }
    }

    private mutating func refer(_ element: String, _ address: String) {
        references.append(Reference(element: element, address: address))
    }

    private mutating func attributes() -> [String: String] {
        var result: [String: String] = [:]
        while at < bytes.count, bytes[at] != UInt8(ascii: ">") {
            guard !isSpace(bytes[at]), bytes[at] != UInt8(ascii: "/") else {
                at += 1
                continue
            }
            let name = word(until: [UInt8(ascii: "="), UInt8(ascii: ">"), UInt8(ascii: "/")])
            if name.isEmpty { at += 1 }
            skipSpaces()
            var value = ""
            if at < bytes.count, bytes[at] == UInt8(ascii: "=") {
                at += 1
                skipSpaces()
                value = attributeValue()
            }
            if result[name] == nil { result[name] = value }
        }
        at = min(at + 1, bytes.count)
        return result
    }

    private mutating func attributeValue() -> String {
        guard at < bytes.count else { return "" }
        let quote = bytes[at]
        guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
            let start = at
            while at < bytes.count, !isSpace(bytes[at]), bytes[at] != UInt8(ascii: ">") { at += 1 }
            return String(decoding: bytes[start..<at], as: UTF8.self)
        }
        let start = at + 1
        at = start
        while at < bytes.count, bytes[at] != quote { at += 1 }
        defer { at = min(at + 1, bytes.count) }
        return String(decoding: bytes[start..<at], as: UTF8.self)
    }

    /// The text up to the element's end tag; the whole rest where there is none.
    private mutating func rawText(endingAt name: String) -> [UInt8] {
        let start = at
        let end = position(of: "</" + name, from: at) ?? bytes.count
        at = end
        return Array(bytes[start..<end])
    }

    private mutating func word(until stops: [UInt8] = [UInt8(ascii: ">"), UInt8(ascii: "/")]) -> String {
        let start = at
        while at < bytes.count, !isSpace(bytes[at]), !stops.contains(bytes[at]) { at += 1 }
        return String(decoding: bytes[start..<at], as: UTF8.self).lowercased()
    }

    private mutating func skipSpaces() { while at < bytes.count, isSpace(bytes[at]) { at += 1 } }

    private func starts(_ text: String) -> Bool { bytes[at...].starts(with: text.utf8) }

    private func position(of text: String, from start: Int) -> Int? {
        let needle = Array(text.utf8)
        guard bytes.count >= needle.count else { return nil }
        var index = start
        while index <= bytes.count - needle.count {
            if zip(needle, bytes[index...]).allSatisfy({ lowered($0) == lowered($1) }) { return index }
            index += 1
        }
        return nil
    }

    private func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
    private func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(lowered(byte)) }
    private func lowered(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}
