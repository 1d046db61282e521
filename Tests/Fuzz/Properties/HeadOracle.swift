// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// A second, slower reading of a head that a parser took: the rules of RFC 9112 on the raw bytes, without the
/// parser's code.
package enum HeadOracle {
    package enum Kind: Sendable {
        case request
        case answer
    }

    /// What is wrong with these bytes as one whole head, or nil.
    package static func fault(in bytes: some Collection<UInt8>, _ kind: Kind) -> String? {
        let all = Array(bytes)
        if all.contains(0) { return "NUL" }
        for (index, byte) in all.enumerated() {
            if byte == 10, index == 0 || all[index - 1] != 13 { return "a bare line feed" }
            if byte == 13, index + 1 == all.count || all[index + 1] != 10 { return "a bare carriage return" }
        }
        var lines = all.split(separator: 10, omittingEmptySubsequences: false).map { $0.dropLast() }
        guard lines.count >= 3, lines.removeLast().isEmpty, lines.removeLast().isEmpty else { return "no end" }
        if lines[0].isEmpty, kind == .request { lines.removeFirst() }
        guard let start = lines.first, !start.isEmpty else { return "no start line" }
        var values: [String: [[UInt8]]] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: 58), colon > line.startIndex else { return "a line without a name" }
            let name = line[..<colon]
            if name.contains(where: { $0 <= 32 || $0 >= 127 }) { return "a name with a space" }
            values[String(decoding: name.map(lowered), as: UTF8.self), default: []].append(
                trimmed(line[(colon + 1)...]))
        }
        return framingFault(values) ?? (kind == .request ? hostFault(values, start: Array(start)) : nil)
    }

    private static func framingFault(_ values: [String: [[UInt8]]]) -> String? {
        let lengths = values["content-length"] ?? []
        let codings = values["transfer-encoding"] ?? []
        if lengths.count > 1 { return "two lengths" }
        if codings.count > 1 { return "two codings" }
        if !lengths.isEmpty, !codings.isEmpty { return "a length and a coding" }
        if let length = lengths.first, length.isEmpty || !length.allSatisfy({ $0 >= 48 && $0 <= 57 }) {
            return "a length that is no number"
        }
        if let coding = codings.first, coding.map(lowered) != Array("chunked".utf8) { return "a coding but chunked" }
        return nil
    }

    private static func hostFault(_ values: [String: [[UInt8]]], start: [UInt8]) -> String? {
        let hosts = values["host"] ?? []
        if hosts.count > 1 { return "two Hosts" }
        if start.last == UInt8(ascii: "1"), hosts.isEmpty { return "no Host" }
        if let host = hosts.first,
            host.isEmpty || host.contains(where: { $0 <= 32 || $0 >= 127 || ",/@".utf8.contains($0) })
        {
            return "a Host that is none"
        }
        let words = start.split(separator: 32, omittingEmptySubsequences: false)
        guard words.count == 3 else { return "a request line that is not three words" }
        let target = String(decoding: words[1].map(lowered), as: UTF8.self)
        for scheme in ["http://", "https://"] where target.hasPrefix(scheme) {
            let authority = target.utf8.dropFirst(scheme.utf8.count).prefix { $0 != 47 && $0 != 63 }
            if authority.isEmpty { return "a URL without a host" }
            if hosts.first.map({ $0.map(lowered) }) != Array(authority) { return "a URL of another host" }
        }
        if target.utf8.allSatisfy({ $0 > 32 && $0 < 127 && $0 != 35 }) { return nil }
        return "a target with a forbidden character"
    }

    private static func lowered(_ byte: UInt8) -> UInt8 { byte >= 65 && byte <= 90 ? byte + 32 : byte }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        let isSpace = { (byte: UInt8) in byte == 32 || byte == 9 }
        return Array(bytes.drop(while: isSpace).reversed().drop(while: isSpace).reversed())
    }
}
