// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore

/// The little XML that S3 answers with, read strictly: elements and text. Nothing that names other documents, no
/// declarations of a type, and attributes are skipped.
struct S3Document: Sendable, Equatable {
    let name: String
    let text: String
    let children: [S3Document]

    static let maximumBytes = 8_000_000
    private static let maximumDepth = 16

    /// - Throws: `bucket.answer`.
    init(_ bytes: [UInt8]) throws(NacreError) {
        var reader = Reader(bytes: bytes)
        guard bytes.count <= Self.maximumBytes, let document = reader.document() else {
            throw NacreError("bucket.answer", "The store's answer is not the XML that an S3 store gives.")
        }
        self = document
    }

    init(name: String, text: String, children: [S3Document]) {
        (self.name, self.text, self.children) = (name, text, children)
    }

    /// The text of the first child of that name.
    subscript(name: String) -> String? { children.first { $0.name == name }?.text }

    /// A reader that answers nil at the first thing it does not take.
    private struct Reader {
        let bytes: [UInt8]
        var at = 0

        mutating func document() -> S3Document? {
            skip([0xEF, 0xBB, 0xBF])
            space()
            if starts("<?xml") {
                guard let end = find("?>") else { return nil }
                at = end + 2
                space()
            }
            guard let root = element(depth: 0) else { return nil }
            space()
            return at == bytes.count ? root : nil  // guard: s3-document-end
        }

        private mutating func element(depth: Int) -> S3Document? {
            guard depth < S3Document.maximumDepth, take(UInt8(ascii: "<")), let name = name() else { return nil }
            guard let isEmpty = attributes() else { return nil }
            if isEmpty { return S3Document(name: name, text: "", children: []) }
            var text: [UInt8] = []
            var children: [S3Document] = []
            while at < bytes.count {
                if starts("</") {
                    at += 2
                    guard self.name() == name else { return nil }  // guard: s3-document-closed
                    space()
                    guard take(UInt8(ascii: ">")), let whole = String(validating: text, as: UTF8.self) else {
                        return nil
                    }
                    return S3Document(name: name, text: children.isEmpty ? whole : "", children: children)
                }
                switch bytes[at] {
                case UInt8(ascii: "<"):
                    guard let child = element(depth: depth + 1) else { return nil }
                    children.append(child)
                case UInt8(ascii: "&"):
                    guard let character = entity() else { return nil }
                    text += character
                default:
                    text.append(bytes[at])
                    at += 1
                }
            }
            return nil
        }

        /// Past the attributes and the `>`; true for an element without content.
        private mutating func attributes() -> Bool? {
            while true {
                space()
                if take(UInt8(ascii: ">")) { return false }
                if starts("/>") {
                    at += 2
                    return true
                }
                guard name() != nil, take(UInt8(ascii: "=")), at < bytes.count else { return nil }
                let quote = bytes[at]
                guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'"),
                    let end = bytes[(at + 1)...].firstIndex(of: quote)
                else { return nil }
                at = end + 1
            }
        }

        private mutating func entity() -> [UInt8]? {
            guard let end = bytes[at...].prefix(12).firstIndex(of: UInt8(ascii: ";")) else { return nil }
            let word = String(decoding: bytes[(at + 1)..<end], as: UTF8.self)
            at = end + 1
            switch word {
            case "amp": return [UInt8(ascii: "&")]
            case "lt": return [UInt8(ascii: "<")]
            case "gt": return [UInt8(ascii: ">")]
            case "quot": return [UInt8(ascii: "\"")]
            case "apos": return [UInt8(ascii: "'")]
            default:
                guard word.hasPrefix("#") else { return nil }
                let number = word.hasPrefix("#x") ? UInt32(word.dropFirst(2), radix: 16) : UInt32(word.dropFirst())
                return number.flatMap(Unicode.Scalar.init).map { Array(String(Character($0)).utf8) }
            }
        }

        private mutating func name() -> String? {
            let start = at
            while at < bytes.count {
                let byte = bytes[at]
                let isLetter = (0x41...0x5A).contains(byte & 0xDF)
                let isOther = (0x30...0x3A).contains(byte) || byte == 0x2D || byte == 0x2E || byte == 0x5F
                guard isLetter || at > start && isOther else { break }
                at += 1
            }
            return at > start ? String(decoding: bytes[start..<at], as: UTF8.self) : nil
        }

        private mutating func space() {
            while at < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[at]) { at += 1 }
        }
        private mutating func take(_ byte: UInt8) -> Bool {
            guard at < bytes.count, bytes[at] == byte else { return false }
            at += 1
            return true
        }
        private mutating func skip(_ mark: [UInt8]) { if bytes[at...].starts(with: mark) { at += mark.count } }
        private func starts(_ text: String) -> Bool { bytes[at...].starts(with: text.utf8) }
        private func find(_ text: String) -> Int? {
            let mark = Array(text.utf8)
            return (at..<max(at, bytes.count - mark.count + 1)).first { bytes[$0...].starts(with: mark) }
        }
    }
}
