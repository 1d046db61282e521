// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// `GET /path HTTP/1.1`, taken apart (RFC 9112 section 3).
struct RequestLine {
    let method: String
    let target: String
    let minorVersion: Int

    init(_ line: ArraySlice<UInt8>, limits: ParsingLimits) throws(Refusal) {
        let parts = line.split(separator: ByteClass.space, omittingEmptySubsequences: false)
        guard parts.count == 3 else {
            throw Refusal(400, "The request line is not three words with single spaces.")
        }
        minorVersion = try Self.version(parts[2])
        method = try Self.method(parts[0])
        guard parts[1].count <= limits.targetBytes else {  // guard: listener-target-length
            throw Refusal(414, "The target is longer than \(limits.targetBytes) bytes.")
        }
        guard !parts[1].isEmpty, parts[1].allSatisfy(ByteClass.isTarget) else {  // guard: listener-target-bytes
            throw Refusal(400, "The target holds a character to percent-encode.")
        }
        target = text(parts[1])
    }

    private static func method(_ bytes: ArraySlice<UInt8>) throws(Refusal) -> String {
        guard !bytes.isEmpty, bytes.count <= 32, bytes.allSatisfy(ByteClass.isToken) else {
            throw Refusal(400, "The method is not a word.")
        }
        guard !bytes.contains(where: ByteClass.isLower) else {  // guard: listener-method-case
            throw Refusal(501, "Methods are upper case.")
        }
        return text(bytes)
    }

    private static func version(_ bytes: ArraySlice<UInt8>) throws(Refusal) -> Int {
        let form = Array("HTTP/".utf8)
        guard bytes.count == 8, bytes.starts(with: form) else { throw Refusal(400, "The version is not HTTP/1.1.") }
        let digits = bytes.suffix(3)
        guard let major = digits.first, let minor = digits.last, ByteClass.isDigit(major), ByteClass.isDigit(minor),
            digits.dropFirst().first == UInt8(ascii: ".")
        else { throw Refusal(400, "The version is not HTTP/1.1.") }
        guard major == UInt8(ascii: "1"), minor <= UInt8(ascii: "1") else {  // guard: listener-version
            throw Refusal(505, "Only HTTP/1.1 and HTTP/1.0 are spoken here.")
        }
        return Int(minor) - 48
    }
}
