// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CZstd
public import NacreCore

/// Bytes as one zstd frame: how a file lies under `ReleaseStore.object`, and a tree's list under `ReleaseStore.list`.
///
/// What comes out is checked by the digest under which it was asked for; the frame itself proves nothing.
public enum PackedFile {
    /// One level for all publishers, so that the same file has the same bytes in the store.
    private static let level: Int32 = 12

    /// The most bytes that a frame of so many has; a longer answer is not read.
    public static func bound(_ size: Int) -> Int { ZSTD_compressBound(size) + 64 }

    /// Packs bytes.
    ///
    /// - Throws: `patch.make` when there is too little memory.
    public static func pack(_ bytes: [UInt8]) throws(NacreError) -> [UInt8] {
        let fault = NacreError("patch.make", "A file could not be packed; there may be too little memory.")
        guard let context = ZSTD_createCCtx() else { throw fault }
        defer { ZSTD_freeCCtx(context) }
        for (parameter, value) in [(ZSTD_c_compressionLevel, level), (ZSTD_c_checksumFlag, 1)] {
            guard ZSTD_isError(ZSTD_CCtx_setParameter(context, parameter, value)) == 0 else { throw fault }
        }
        var out = [UInt8](repeating: 0, count: ZSTD_compressBound(bytes.count))
        let count = ZSTD_compress2(context, &out, out.count, bytes, bytes.count)
        guard ZSTD_isError(count) == 0 else { throw fault }
        return Array(out[..<count])
    }

    /// Unpacks a file that must be this one.
    ///
    /// - Throws: `release.object` when it is another or damaged; no more than `size` bytes are unpacked.
    public static func unpack(_ packed: [UInt8], size: Int, digest: TreeDigest) throws(NacreError) -> [UInt8] {
        let fault = NacreError("release.object", "A file of the release is damaged in the store.")
        var out: [UInt8] = []
        do throws(NacreError) {
            try TreePatch.apply(packed, to: [], size: size) { (piece: [UInt8]) throws(NacreError) in out += piece }
        } catch { throw NacreError(fault.code, fault.message, cause: error) }
        guard TreeDigest(of: out) == digest else { throw fault }  // guard: object-digest
        return out
    }
}

extension ReleaseTree {
    /// Reads the list of a release as it lies under `ReleaseStore.list`; it must be the tree that was signed.
    ///
    /// - Throws: `release.object`, `release.list`, `release.too_large`.
    public init(
        packedList: [UInt8], of facts: ReleasePayload.TreeFacts, limits: ReleaseLimits = ReleaseLimits()
    ) throws(NacreError) {
        guard facts.listBytes <= limits.listBytes else {  // guard: packed-list-size
            throw NacreError("release.too_large", "The release's list of files is too long.")
        }
        try self.init(
            list: try PackedFile.unpack(packedList, size: facts.listBytes, digest: facts.digest), limits: limits)
    }
}
