// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore
import NacreCrypto

extension SourceSystemSeal.Contents {
    /// Encrypts a plain archive, piece by piece.
    ///
    /// - Throws: `file.read`, `crypto.*`, what `take` throws.
    public func seal(
        _ plain: any RandomAccessBytes, _ take: ([UInt8]) throws(NacreError) -> Void
    ) throws(NacreError) {
        var cipher = try AES128CBC(.encrypt, key: key, vector: vector)
        try plain.eachPiece { (piece: [UInt8]) throws(NacreError) in try take(try cipher.update(piece)) }
        try take(try cipher.finish())
    }

    /// Decrypts a bundle, piece by piece, and checks what came out against the signed digest. What `take` got before an
    /// error must be thrown away; nothing of it may be read as an archive before this returns.
    ///
    /// - Throws: `release.bundle` when it is not what the publisher signed.
    public func open(
        _ sealed: any RandomAccessBytes, _ take: ([UInt8]) throws(NacreError) -> Void
    ) throws(NacreError) {
        let fault = NacreError("release.bundle", "The bundle is not what the publisher signed.")
        guard sealed.count > 0, sealed.count % AES128CBC.blockSize == 0 else { throw fault }
        var cipher = try AES128CBC(.decrypt, key: key, vector: vector)
        var hasher = SHA256Hasher()
        try sealed.eachPiece { (piece: [UInt8]) throws(NacreError) in
            let plain = try cipher.update(piece)
            hasher.update(plain)
            try take(plain)
        }
        let rest: [UInt8]
        // A wrong padding and a wrong digest look alike from outside.
        do throws(NacreError) { rest = try cipher.finish() } catch { throw fault }
        hasher.update(rest)
        guard constantTimeEqual(hasher.finish(), digest.bytes) else { throw fault }  // guard: bundle-digest
        try take(rest)
    }
}
