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
        try demand(whole(patch, size) == out, "other bytes than in one go")
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
    private static func whole(_ patch: [UInt8], _ size: Int) -> [UInt8]? {
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
