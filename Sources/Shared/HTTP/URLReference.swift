// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

extension WebURL {
    /// Where a reference in an answer from this URL leads, a `Location` say (RFC 3986 section 5.2); nil when that is no
    /// http or https URL. Bytes that URLs cannot hold are percent-encoded, as browsers do; a fragment is dropped.
    public func resolving(_ reference: String) -> WebURL? {
        let text = Self.encodeOddBytes(reference.trimmingSpaces())
        if text.hasPrefix("//") { return try? WebURL(origin.scheme + ":" + text) }
        if let colon = text.firstIndex(of: ":"), Self.isScheme(text[..<colon]) { return try? WebURL(text) }
        // Browsers read a backslash as a slash, others do not: it leads nowhere.
        guard !text.contains("\\") else { return nil }
        let bare = text.prefix { $0 != "#" }
        guard !bare.isEmpty else { return self }
        if bare.hasPrefix("?") { return WebURL(origin: origin, target: path + bare) }
        let mark = bare.firstIndex(of: "?") ?? bare.endIndex
        let folder = path[...(path.lastIndex(of: "/") ?? path.startIndex)]
        let whole = bare.hasPrefix("/") ? String(bare[..<mark]) : String(folder + bare[..<mark])
        return WebURL(origin: origin, target: Self.removeDotSegments(whole) + bare[mark...])
    }

    private static func isScheme(_ text: Substring) -> Bool {
        guard let first = text.utf8.first, (first | 0x20) >= 0x61, (first | 0x20) <= 0x7A else { return false }
        return text.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || [0x2B, 0x2D, 0x2E].contains(byte)
        }
    }

    private static func encodeOddBytes(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 <= 0x20 || $0 >= 0x7F }) else { return text }
        return text.utf8.map { byte in
            let scalar = Unicode.Scalar(byte)
            return byte <= 0x20 || byte >= 0x7F ? PercentEncoding.escape(byte) : String(scalar)
        }.joined()
    }

    /// RFC 3986 section 5.2.4.
    private static func removeDotSegments(_ path: String) -> String {
        var out: [Substring] = []
        let parts = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            let isLast = index == parts.count - 1
            switch part.lowercased() {
            case ".", "%2e": if isLast { out.append("") }
            case "..", ".%2e", "%2e.", "%2e%2e":
                _ = out.popLast()
                if isLast { out.append("") }
            default: out.append(part)
            }
        }
        return "/" + out.joined(separator: "/")
    }
}
