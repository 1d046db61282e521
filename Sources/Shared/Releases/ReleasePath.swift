// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore

/// A file's place in a release: relative, its parts joined by `/`, in UTF-8.
///
/// What could leave the tree, or mean two things on two systems, is no path (UP-5).
public struct ReleasePath: Hashable, Sendable, CustomStringConvertible {
    /// The longest path and the longest part of one, in bytes, that every system here can hold.
    public static let maximumLength = 1024
    static let maximumPart = 255
    private static let maximumDepth = 32

    /// The path as written, such as `assets/app.js`.
    public let text: String
    public var description: String { text }

    /// A path of this spelling.
    ///
    /// - Throws: `release.path` that says what is wrong, with the path shortened.
    public init(_ text: some StringProtocol) throws(NacreError) {
        self.text = String(text)
        if let fault = Self.fault(self.text) {
            throw NacreError(
                "release.path", "The release has a file named \"\(self.text.prefix(80))\", which \(fault).")
        }
    }

    private static func fault(_ text: String) -> String? {
        let bytes = text.utf8
        guard !bytes.isEmpty, bytes.count <= maximumLength else { return "has no usable length" }  // guard: path-length
        guard !bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {  // guard: path-control
            return "has a control character"
        }
        guard !bytes.contains(UInt8(ascii: "\\")) else { return "has a backslash" }  // guard: path-backslash
        let parts = bytes.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count <= maximumDepth else { return "lies in more than \(maximumDepth) folders" }
        for part in parts {
            // An empty part is a path from the root, a folder, or two slashes in a row.
            guard !part.isEmpty else { return "is not relative" }  // guard: path-relative
            guard !part.elementsEqual(".".utf8), !part.elementsEqual("..".utf8) else {  // guard: path-dots
                return "leaves its folder"
            }
            guard part.count <= maximumPart else { return "has a part of more than \(maximumPart) bytes" }
        }
        // `C:x` is a place of its own elsewhere.
        let first = Array(parts[0].prefix(2))
        let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
        guard first.count < 2 || first[1] != UInt8(ascii: ":") || !letters.contains(first[0] | 0x20) else {
            return "names a drive"
        }
        return nil
    }

    /// Two paths of one key are one file on some system: case and the way accents are written do not count. (Swift
    /// compares text by what it means, so the composed and the decomposed form are equal.)
    var collisionKey: String { Self.collisionKey(text) }

    /// Upper case first: some letters, such as the long s, have no lower form of their own.
    static func collisionKey(_ text: String) -> String { text.uppercased().lowercased() }

    /// The folders above, from the outermost: `a/b/c` has `a` and `a/b`.
    var folders: [String] {
        // By bytes: a slash with an accent behind it is one character, and a slash all the same.
        let bytes = Array(text.utf8)
        return bytes.indices.filter { bytes[$0] == UInt8(ascii: "/") }.map {
            String(decoding: bytes[..<$0], as: UTF8.self)
        }
    }
}

extension ReleasePath: Comparable {
    /// By bytes, so that every machine agrees whatever its language.
    public static func < (a: ReleasePath, b: ReleasePath) -> Bool { a.text.utf8.lexicographicallyPrecedes(b.text.utf8) }

    public static func == (a: ReleasePath, b: ReleasePath) -> Bool { a.text.utf8.elementsEqual(b.text.utf8) }
    public func hash(into hasher: inout Hasher) { for byte in text.utf8 { hasher.combine(byte) } }
}
