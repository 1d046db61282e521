// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CZstd
public import NacreCore

/// Patches between trees (`zstd-tree-1`): the new tree's list and files as one stream, packed by zstd with the old
/// tree's stream as what it may refer to.
///
/// A stream is the list's text, then the contents in the order of `TreeOrder`. The result is checked by the signed name of
/// the tree, file by file; a patch that was made for something else, or by somebody else, gives an error and no tree.
public enum TreePatch {
    /// The name of this kind of patch in a manifest.
    public static let algorithm = "zstd-tree-1"

    /// How hard to look: as hard as pays, or as quickly as can be (`--fast`).
    public enum Effort: Int32, Sendable {
        case fast = 9
        case thorough = 16
    }

    /// The stream of a tree; `content` gives a file's bytes.
    public static func stream(
        of tree: ReleaseTree, content: (ReleaseFile) throws(NacreError) -> [UInt8]
    ) throws(NacreError) -> [UInt8] {
        var out = tree.list
        out.reserveCapacity(out.count + tree.bytes)
        for file in TreeOrder.sorted(tree.files) { out += try content(file) }
        return out
    }

    /// Makes a patch from one stream to another.
    ///
    /// - Parameter progress: told the part done, 0 to 1; throws to stop.
    /// - Throws: `patch.make`; what `progress` throws.
    public static func make(
        from base: [UInt8], to target: [UInt8], effort: Effort,
        progress: (Double) throws(NacreError) -> Void = { _ throws(NacreError) in }
    ) throws(NacreError) -> [UInt8] {
        let fault = NacreError("patch.make", "The patch could not be made; there may be too little memory.")
        guard let context = ZSTD_createCCtx() else { throw fault }
        defer { ZSTD_freeCCtx(context) }
        let window = window(base.count + target.count)
        var parameters = [
            (ZSTD_c_compressionLevel, effort.rawValue), (ZSTD_c_windowLog, Int32(window)),
            (ZSTD_c_enableLongDistanceMatching, 1), (ZSTD_c_checksumFlag, 1),
        ]
        // zstd's own tables, of any level, hold the last few million places: of a tree's old stream they forget all but the
        // end. With tables for the whole of it, 16 with short searches finds more than 19, in less than half of the time.
        if effort == .thorough {
            parameters += [
                (ZSTD_c_chainLog, Int32(min(window + 1, tableLimit))),
                (ZSTD_c_hashLog, Int32(min(window, tableLimit) - 1)),
                (ZSTD_c_searchLog, 3), (ZSTD_c_minMatch, 6),
            ]
        }
        for (parameter, value) in parameters {
            guard ZSTD_isError(ZSTD_CCtx_setParameter(context, parameter, value)) == 0 else { throw fault }
        }
        guard ZSTD_isError(ZSTD_CCtx_setPledgedSrcSize(context, UInt64(target.count))) == 0 else { throw fault }
        var result: [UInt8] = []
        try withBytes(base, target) { (old, new) throws(NacreError) in
            guard ZSTD_isError(ZSTD_CCtx_refPrefix(context, old.baseAddress, old.count)) == 0 else { throw fault }
            try compress(new, context, into: &result, fault, progress)
        }
        return result
    }

    private static func compress(
        _ input: UnsafeRawBufferPointer, _ context: OpaquePointer, into result: inout [UInt8], _ fault: NacreError,
        _ progress: (Double) throws(NacreError) -> Void
    ) throws(NacreError) {
        var out = [UInt8](repeating: 0, count: ZSTD_CStreamOutSize())
        let step = 1 << 20
        var at = 0
        repeat {
            let end = min(at + step, input.count)
            let isLast = end == input.count
            var source = ZSTD_inBuffer(src: input.baseAddress.map { $0 + at }, size: end - at, pos: 0)
            var left = 0
            repeat {
                let count = out.withUnsafeMutableBytes { space in
                    var target = ZSTD_outBuffer(dst: space.baseAddress, size: space.count, pos: 0)
                    left = ZSTD_compressStream2(context, &target, &source, isLast ? ZSTD_e_end : ZSTD_e_continue)
                    return target.pos
                }
                guard ZSTD_isError(left) == 0 else { throw fault }
                result += out[..<count]
            } while isLast ? left != 0 : source.pos < source.size
            at = end
            try progress(input.isEmpty ? 1 : Double(at) / Double(input.count))
        } while at < input.count
    }

    /// Unpacks a patch against the old stream, piece by piece.
    ///
    /// - Parameter size: bytes of the new stream, from the signed manifest; not one more is unpacked.
    /// - Throws: `patch.damaged`, what `take` throws.
    public static func apply(
        _ patch: [UInt8], to base: [UInt8], size: Int, _ take: ([UInt8]) throws(NacreError) -> Void
    ) throws(NacreError) {
        let damaged = NacreError("patch.damaged", "The patch is damaged, or was made for another version.")
        guard let context = ZSTD_createDCtx() else { throw damaged }
        defer { ZSTD_freeDCtx(context) }
        // Memory for a window is asked for before the first byte comes out, so a window of no use is refused.
        let window = Int32(window(base.count + size))
        try withBytes(base, patch) { (old, packed) throws(NacreError) in
            // guard: patch-window
            guard ZSTD_isError(ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, window)) == 0,
                ZSTD_isError(ZSTD_DCtx_refPrefix(context, old.baseAddress, old.count)) == 0
            else { throw damaged }
            try decompress(packed, context, size, damaged, take)
        }
    }

    private static func decompress(
        _ packed: UnsafeRawBufferPointer, _ context: OpaquePointer, _ size: Int, _ damaged: NacreError,
        _ take: ([UInt8]) throws(NacreError) -> Void
    ) throws(NacreError) {
        var source = ZSTD_inBuffer(src: packed.baseAddress, size: packed.count, pos: 0)
        var out = [UInt8](repeating: 0, count: 1 << 20)
        var produced = 0
        var left = 1
        while left != 0 {
            let before = source.pos
            let count = out.withUnsafeMutableBytes { space in
                var target = ZSTD_outBuffer(dst: space.baseAddress, size: space.count, pos: 0)
                left = ZSTD_decompressStream(context, &target, &source)
                return target.pos
            }
            guard ZSTD_isError(left) == 0, count > 0 || source.pos > before || left == 0 else { throw damaged }
            produced += count
            guard produced <= size else { throw damaged }  // guard: patch-bomb
            if count > 0 { try take(Array(out[..<count])) }
        }
        // One frame and nothing behind it.
        guard produced == size, source.pos == packed.count else { throw damaged }  // guard: patch-whole
    }

    /// Both as the C library wants them, for as long as `body` runs: zstd keeps the address of what it refers to.
    private static func withBytes(
        _ one: [UInt8], _ two: [UInt8],
        _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws(NacreError) -> Void
    ) throws(NacreError) {
        try one.withUnsafeBufferPointer { (one) throws(NacreError) in
            try two.withUnsafeBufferPointer { (two) throws(NacreError) in
                try body(UnsafeRawBufferPointer(one), UnsafeRawBufferPointer(two))
            }
        }
    }

    /// The window spans both streams, or what is far away is not found.
    private static func window(_ count: Int) -> Int { max(20, min(windowLimit, count.bitWidthUsed)) }

    /// What zstd allows on 64-bit systems, and a phone can spare.
    private static let windowLimit = 30
    /// Tables of 2^27 and 2^26 places, three quarters of a gigabyte, while a patch is made.
    private static let tableLimit = 27
}

extension Int {
    /// The least number of bits in which it fits.
    fileprivate var bitWidthUsed: Int { Int.bitWidth - leadingZeroBitCount }
}
