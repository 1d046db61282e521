// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// The order of a tree's files in the one stream that patches are made between.
///
/// Bundlers put a hash into names, and a changed file moves. Ordered by name without the hash, the old and the new
/// file stand at about the same place of both streams, so that a patch finds one in the other. Part of the patch format
/// (`zstd-tree-1`): both ends must order alike, for ever.
enum TreeOrder {
    static func sorted(_ files: [ReleaseFile]) -> [ReleaseFile] {
        files.map { (key: key($0.path.text), file: $0) }
            .sorted { a, b in
                if a.key == b.key { return a.file.path < b.file.path }
                return a.key.lexicographicallyPrecedes(b.key)
            }
            .map(\.file)
    }

    /// The path with what looks like a hash in the file's name taken out.
    static func key(_ path: String) -> [UInt8] {
        let bytes = Array(path.utf8)
        let start = bytes.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
        let end = bytes[start...].lastIndex(of: UInt8(ascii: ".")) ?? bytes.count
        let stem = bytes[start..<end]
        guard let kept = hashStart(stem) else { return bytes }
        return Array(bytes[..<kept] + bytes[end...])
    }

    /// Where the hash of a stem begins, its separator included: after the last `-`, `.` or `_`, eight or more letters and
    /// digits; or, as the alphabet of eight-letter hashes has `-` and `_` too, a separator nine before the end.
    private static func hashStart(_ stem: ArraySlice<UInt8>) -> Int? {
        if let separator = stem.lastIndex(where: isSeparator), stem.endIndex - separator > 8,
            separator > stem.startIndex
        {
            return separator
        }
        let ninth = stem.endIndex - 9
        return ninth > stem.startIndex && isSeparator(stem[ninth]) ? ninth : nil
    }

    private static func isSeparator(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_")
    }
}
