// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreHTTP

/// One header or trailer line, already without its line end (RFC 9112 section 5).
struct FieldLine {
    let name: String
    let value: String

    init(_ line: ArraySlice<UInt8>) throws(Refusal) {
        if line.first == ByteClass.space || line.first == ByteClass.tab {
            throw Refusal(400, "A header line starts with white space; folded lines are not taken.")
        }
        guard let colon = line.firstIndex(of: ByteClass.colon), colon > line.startIndex else {
            throw Refusal(400, "A header line has no name and colon.")
        }
        let name = line[line.startIndex..<colon]
        guard name.allSatisfy(ByteClass.isToken) else {  // guard: listener-field-name
            throw Refusal(400, "A header name holds a space or another forbidden character.")
        }
        let value = trimmed(line[(colon + 1)...])
        guard value.allSatisfy(ByteClass.isFieldValue) else {  // guard: listener-field-value
            throw Refusal(400, "The value of \(text(name)) holds a control character.")
        }
        self.name = text(name)
        self.value = text(value)
    }
}

extension FieldLine {
    /// Writes a line whose parts have been checked. Every field of every message goes through here, twice when it is passed on.
    static func append(_ name: String, _ value: String, to out: inout [UInt8]) {
        out += name.utf8
        out.append(ByteClass.colon)
        out.append(ByteClass.space)
        out += value.utf8
        out.append(ByteClass.carriageReturn)
        out.append(ByteClass.lineFeed)
    }
}

/// The fields that say how a message ends and what becomes of the connection.
enum FramingNames {
    static func contains(_ name: String) -> Bool {
        // By their lengths first: hardly any other field gets beyond that.
        switch name.utf8.count {
        case 10: equalNames(name, "connection") || equalNames(name, "keep-alive")
        case 14: equalNames(name, "content-length")
        case 17: equalNames(name, "transfer-encoding")
        default: false
        }
    }
}

/// Without spaces and tabs at both ends.
private func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var rest = bytes
    while let first = rest.first, first == ByteClass.space || first == ByteClass.tab { rest.removeFirst() }
    while let last = rest.last, last == ByteClass.space || last == ByteClass.tab { rest.removeLast() }
    return rest
}

/// UTF-8 where it is that, else one character per byte: old senders write Latin-1.
func text(_ bytes: ArraySlice<UInt8>) -> String {
    if bytes.allSatisfy({ $0 < 0x80 }) { return String(decoding: bytes, as: UTF8.self) }
    if let utf8 = String(validating: bytes, as: UTF8.self) { return utf8 }
    return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
}
