// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreReleases
import Synchronization

/// A tree as the source system's bundle, in a file.
struct SealedBundle: Sendable {
    let seal: SourceSystemSeal
    let object: ReleasePayload.StoredObject
    let file: String

    /// Zips and encrypts. The same files under the same key give the same bytes: a publisher that was cut off can go on
    /// where it was, and no key of the store ever gets other bytes.
    ///
    /// Takes long and blocks.
    /// - Throws: `archive.write`, `file.*`, `crypto.*`.
    init(_ tree: ReleaseTree, in folder: TreeFolder, key: PrivateKey, work: WorkFolder) throws(NacreError) {
        let plain = work.file("plain.zip")
        try ArchiveWriter.write(tree.files.map { ($0.path, folder.file($0.path)) }, to: plain)
        let bytes = try FileBytes(plain)
        let digest = try TreeDigest(of: bytes)
        let made = try SourceSystemSeal.make(for: digest, with: key, random: DerivedRandom(key, digest))
        let sealed = work.file("sealed.zip")
        let output = try OutputFile(sealed)
        var sealedHasher = SHA256Hasher()
        try made.contents.seal(bytes) { (piece: [UInt8]) throws(NacreError) in
            sealedHasher.update(piece)
            try output.write(piece)
        }
        try output.finish()
        seal = made.seal
        object = .init(digest: try Self.digest(sealedHasher.finish()), size: output.count)
        file = sealed
    }

    private static func digest(_ bytes: [UInt8]) throws(NacreError) -> TreeDigest {
        guard let digest = TreeDigest(bytes: bytes) else { throw NacreError("crypto.digest", "A digest is damaged.") }
        return digest
    }

    var content: BucketContent { .file(file, size: object.size, sha256: object.digest.bytes) }
}

/// The bundle's own key, from the private key and what is in the bundle: nobody else can know it, and it is the same each
/// time.
private final class DerivedRandom: RandomSource {
    private let secret: [UInt8]
    private let salt: [UInt8]
    private let count = Mutex(0)

    init(_ key: PrivateKey, _ digest: TreeDigest) {
        secret = Array(key.pem.utf8)
        salt = digest.bytes
    }

    func bytes(_ count: Int) -> [UInt8] {
        let number = self.count.withLock { count in
            count += 1
            return count
        }
        return HKDFSHA256.derive(from: secret, salt: salt, info: "nacre bundle \(number)", count: count)
    }
}
