// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CZstd
import NacreCore
import NacreReleases

/// A patch gives exactly the signed number of bytes or an error; what it gives is what zstd gives in one go. Any bytes can be reached by a
/// patch of our own.
enum TreePatchProperty {
    /// Text that does not repeat itself; `release_corpus.py` makes the same.
    private static let base: [UInt8] = {
        var state: UInt64 = 1
        return (0..<2000).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(0x20 + (state >> 33) % 90)
        }
    }()

    /// Two bytes of the signed size, and the patch.
    @Sendable static func check(_ bytes: [UInt8]) throws(Violation) -> Bool {
        guard bytes.count >= 2 else { return false }
        let size = Int(bytes[0]) | Int(bytes[1]) << 8
        let patch = Array(bytes[2...])
        try makes(patch)
        guard let out = try apply(patch, size) else { return false }
        try demand(out.count == size, "\(out.count) bytes, not \(size)")
        try demand(whole(patch, to: base, size) == out, "other bytes than in one go")
        for other in [size + 1, size - 1] where other >= 0 {
            try demand(try apply(patch, other) == nil, "taken for \(other) bytes, and for \(size)")
        }
        try demand(try apply(patch + [0], size) == nil, "taken with something behind it")
        return true
    }

    private static func apply(_ patch: [UInt8], _ size: Int) throws(Violation) -> [UInt8]? {
        var out: [UInt8] = []
        let isWhole = (try? TreePatch.apply(patch, to: base, size: size) { piece in out += piece }) != nil
        try demand(out.count <= size, "\(out.count) bytes, of \(size) signed")
        return isWhole ? out : nil
    }

    /// The same by the function for those who have everything in memory.
    static func whole(_ patch: [UInt8], to base: [UInt8], _ size: Int) -> [UInt8]? {
        guard let context = ZSTD_createDCtx() else { return nil }
        defer { ZSTD_freeDCtx(context) }
        var out = [UInt8](repeating: 0, count: size + 1)
        let count = base.withUnsafeBytes { old in
            ZSTD_DCtx_refPrefix(context, old.baseAddress, old.count)
            return ZSTD_decompressDCtx(context, &out, out.count, patch, patch.count)
        }
        return ZSTD_isError(count) == 0 ? Array(out[..<count]) : nil
    }

    private static func makes(_ target: [UInt8]) throws(Violation) {
        guard let patch = try? TreePatch.make(from: base, to: target, effort: .fast) else {
            throw Violation("not made")
        }
        try demand(try apply(patch, target.count) == target, "other bytes than it was made of")
        try demand(try apply(patch, target.count + 1) == nil, "taken for another size")
    }
}

/// A tree's stream that is taken apart gives the files that its list names, with the contents it names, and is put together again from them;
/// the same in whatever pieces it comes.
enum TreeStreamProperty {
    /// Two bytes of the list's length, and the stream.
    @Sendable static func check(_ bytes: [UInt8]) throws(Violation) -> Bool {
        guard bytes.count >= 2 else { return false }
        let length = Int(bytes[0]) | Int(bytes[1]) << 8
        let stream = Array(bytes[2...])
        // What a publisher would have signed of this very list; a list that is none is signed for nothing.
        let list = Array(stream.prefix(length))
        let tree = try? ReleaseTree(list: list)
        let facts = ReleasePayload.TreeFacts(
            digest: TreeDigest(of: list), files: tree?.files.count ?? 0, bytes: tree?.bytes ?? stream.count - length,
            listBytes: length)
        let whole = files(stream, facts, pieces: [stream.count])
        let place = fingerprint(stream) % (stream.count + 1)
        try demand(whole == files(stream, facts, pieces: [place, stream.count - place]), "otherwise in two pieces")
        guard let whole else { return false }
        guard let tree else { throw Violation("takes a list that is none") }
        try demand(Set(whole.keys) == Set(tree.files), "other files than the list's")
        for (file, content) in whole {
            try demand(TreeDigest(of: content) == file.digest && content.count == file.size, "other contents")
        }
        let again = try? TreePatch.stream(of: tree) { file in whole[file] ?? [] }
        try demand(again == stream, "another stream when put together again")
        var other = facts
        other.digest = TreeDigest(of: stream + [0])
        try demand(files(stream, other, pieces: [stream.count]) == nil, "taken for another tree")
        var less = facts
        less.bytes -= 1
        try demand(files(stream, less, pieces: [stream.count]) == nil, "taken for fewer bytes")
        return true
    }

    private static func files(
        _ stream: [UInt8], _ facts: ReleasePayload.TreeFacts, pieces: [Int]
    ) -> [ReleaseFile: [UInt8]]? {
        var found: [ReleaseFile: [UInt8]] = [:]
        do throws(NacreError) {
            var reader = try TreeStreamReader(facts, limits: ReleaseLimits(listBytes: 1 << 12))
            var at = 0
            for count in pieces {
                try reader.take(Array(stream[at..<at + count])) { found[$0] = $1 }
                at += count
            }
            _ = try reader.finish()
        } catch { return nil }
        return found
    }
}
