// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreReleases

/// A packed file gives exactly the bytes that were asked for by size and digest, or an error; any bytes come back from their own packing.
enum PackedFileProperty {
    private static let limits = ReleaseLimits(listBytes: 1 << 12)

    /// Two bytes of the signed size, and the packed file.
    @Sendable static func check(_ bytes: [UInt8]) throws(Violation) -> Bool {
        guard bytes.count >= 2 else { return false }
        let size = Int(bytes[0]) | Int(bytes[1]) << 8
        let packed = Array(bytes[2...])
        try packs(packed)
        // What a publisher would have signed of these bytes.
        let expected = TreePatchProperty.whole(packed, to: [], size)
        let digest = TreeDigest(of: expected ?? [])
        let out = try? PackedFile.unpack(packed, size: size, digest: digest)
        try lists(packed, size, digest, out)
        guard let out else { return false }
        try demand(out == expected && out.count == size, "other bytes than in one go")
        for other in [size + 1, size - 1] where other >= 0 {
            try demand(
                (try? PackedFile.unpack(packed, size: other, digest: digest)) == nil, "taken for \(other) bytes")
        }
        let another = TreeDigest(of: out + [0])
        try demand((try? PackedFile.unpack(packed, size: size, digest: another)) == nil, "taken for another file")
        try demand(
            (try? PackedFile.unpack(packed + [0], size: size, digest: digest)) == nil, "taken with something behind it")
        return true
    }

    private static func packs(_ content: [UInt8]) throws(Violation) {
        guard let packed = try? PackedFile.pack(content) else { throw Violation("not packed") }
        try demand(packed.count <= PackedFile.bound(content.count), "packed to more than its bound")
        let digest = TreeDigest(of: content)
        try demand(
            (try? PackedFile.unpack(packed, size: content.count, digest: digest)) == content, "unpacks to other bytes")
    }

    /// As a release's list the same bytes give the tree that they name, as far as that is allowed to go.
    private static func lists(
        _ packed: [UInt8], _ size: Int, _ digest: TreeDigest, _ out: [UInt8]?
    ) throws(Violation) {
        let facts = ReleasePayload.TreeFacts(digest: digest, files: 0, bytes: 0, listBytes: size)
        let tree = try? ReleaseTree(packedList: packed, of: facts, limits: limits)
        let list = size <= limits.listBytes ? out : nil
        try demand(tree?.list == list.flatMap { try? ReleaseTree(list: $0, limits: limits).list }, "another list")
    }
}
