// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// Header fields in the order they came; names compare without case (RFC 9110 section 5.1).
///
/// Several fields of one name stay separate, so that `Set-Cookie` never gets joined.
public struct HTTPFields: Sendable, ExpressibleByDictionaryLiteral {
    /// One field.
    public struct Field: Sendable {
        /// The name as given.
        public let name: String
        /// The value without surrounding white space.
        public let value: String
    }

    /// The fields in order.
    public private(set) var fields: [Field] = []

    /// No fields.
    public init() {}

    /// Fields in this order.
    public init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { Field(name: $0.0, value: $0.1) }
    }

    /// The first value of `name`; setting replaces all of that name, nil removes them.
    public subscript(name: String) -> String? {
        get { fields.first { equalNames($0.name, name) }?.value }
        set {
            guard let newValue else { return removeAll(name) }
            guard let index = fields.firstIndex(where: { equalNames($0.name, name) }) else {
                return append(name, newValue)
            }
            fields[index] = Field(name: name, value: newValue)
            let rest = fields[(index + 1)...].filter { !equalNames($0.name, name) }
            fields.replaceSubrange((index + 1)..., with: rest)
        }
    }

    /// Every value of `name`, in order.
    public func values(_ name: String) -> [String] {
        fields.filter { equalNames($0.name, name) }.map(\.value)
    }

    /// The comma-separated members of every field of that name, trimmed, lower case, without empty ones.
    public func tokens(_ name: String) -> [String] {
        values(name).flatMap { $0.parts(at: ",") }
            .map { $0.trimmingSpaces().asciiLowercased }.filter { !$0.isEmpty }  // guard: tokens-by-bytes
    }

    /// The media type that `Content-Type` names, lower case, without parameters; empty where there is none.
    public var mediaType: String {
        guard let value = self["Content-Type"] else { return "" }
        // guard: media-type-by-bytes
        return Substring(value.utf8.prefix { $0 != UInt8(ascii: ";") }).trimmingSpaces().asciiLowercased
    }

    /// Adds one more field at the end.
    public mutating func append(_ name: String, _ value: String) { fields.append(Field(name: name, value: value)) }

    /// Removes every field of that name.
    public mutating func removeAll(_ name: String) { fields.removeAll { equalNames($0.name, name) } }

    /// Removes every field whose lower-case name satisfies `condition`.
    public mutating func removeAll(where condition: (String) -> Bool) {
        fields.removeAll { condition($0.name.asciiLowercased) }
    }

    /// Removes what belongs to one connection only (RFC 9110 section 7.6.1): the named ones and those `Connection` lists.
    public mutating func removeHopByHop() {
        let listed = tokens("Connection")
        removeAll { Self.hopByHop.contains($0) || listed.contains($0) }
    }

    private static let hopByHop: Set<String> = [
        "connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization", "te", "trailer",
        "transfer-encoding", "upgrade",
    ]
}

/// Whether two names of the protocol are the same, comparing ASCII without case and anything else byte by byte:
/// lower-casing a `String` would make a K of the Kelvin sign.
package func equalNames(_ a: String, _ b: String) -> Bool { areEqual(a.utf8, b.utf8) }

/// The same for a part of a text. Not generic: other modules would call an unspecialized one for each field of each message.
package func equalNames(_ a: Substring, _ b: String) -> Bool { areEqual(a.utf8, b.utf8) }

private func areEqual(_ x: some Collection<UInt8>, _ y: some Collection<UInt8>) -> Bool {
    guard x.count == y.count else { return false }
    return zip(x, y).allSatisfy { $0.asciiLowercased == $1.asciiLowercased }
}

extension UInt8 {
    /// A to Z in lower case; nothing else changes, since other letters have lower-case forms in ASCII too.
    fileprivate var asciiLowercased: UInt8 {
        self >= UInt8(ascii: "A") && self <= UInt8(ascii: "Z") ? self | 0x20 : self
    }
}

extension StringProtocol {
    /// The text with A to Z in lower case and nothing else changed, as `equalNames` compares it.
    package var asciiLowercased: String {
        let isLower = utf8.allSatisfy { $0.asciiLowercased == $0 }
        if isLower { return String(self) }
        return String(unsafeUninitializedCapacity: utf8.count) { buffer in
            var place = 0
            for byte in utf8 {
                buffer[place] = byte.asciiLowercased
                place += 1
            }
            return place
        }
    }

    /// The parts between `separator`, which is one byte. Texts from outside are cut in bytes: what follows a separator may
    /// make one longer `Character` with it, and other programs cut there all the same.
    package func parts(
        at separator: Unicode.Scalar, most: Int = .max, keepingEmpty: Bool = false
    ) -> [SubSequence] {
        utf8.split(
            separator: UInt8(ascii: separator), maxSplits: most - 1,
            omittingEmptySubsequences: !keepingEmpty
        ).map { self[$0.startIndex..<$0.endIndex] }
    }

    /// The text without spaces and tabs at both ends.
    package func trimmingSpaces() -> String {
        let text = Substring(self)
        let bytes = text.utf8
        let isSpace = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        guard let first = bytes.firstIndex(where: { !isSpace($0) }),
            let last = bytes.lastIndex(where: { !isSpace($0) })
        else { return "" }
        return String(text[first...last])
    }
}
