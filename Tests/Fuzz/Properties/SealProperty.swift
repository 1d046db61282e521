// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreReleases

/// A seal that opens holds what the corpus' key has signed, in the one spelling there is.
enum SealProperty {
    /// The sessionKey, a line feed, the checksum.
    @Sendable static func check(_ bytes: [UInt8]) throws(Violation) -> Bool {
        guard let text = String(validating: bytes, as: UTF8.self) else { return false }
        let lines = text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let seal = SourceSystemSeal(sessionKey: lines[0], checksum: lines.count > 1 ? lines[1] : "")
        guard let contents = try? seal.open(with: ReleaseKeys.archive) else { return false }
        try demand(contents.key.count == 16 && contents.vector.count == 16, "keys of other lengths")
        try demand(contents.key == [UInt8](0..<16), "a session key that nobody signed")
        try demand(contents.digest == SealedBundleProperty.digest, "a digest that nobody signed")
        try demand(seal.sessionKey.utf8.count == 369 && seal.checksum.utf8.count == 512, "other lengths")
        let parts = seal.sessionKey.split(separator: ":", omittingEmptySubsequences: false)
        try demand(parts.count == 2 && Base64.encode(contents.vector) == parts[0], "another vector")
        for part in parts { try demand(Base64.encode(Base64.decode(part) ?? []) == part, "a second spelling") }
        try demand(Hex.encode(Hex.decode(seal.checksum) ?? []) == seal.checksum, "a second spelling of the checksum")
        return true
    }
}

/// A bundle opens to what was signed, or not at all; any bytes, sealed, open to themselves and to nothing else when changed.
enum SealedBundleProperty {
    private static let plain = Array("an archive, as far as the cipher knows".utf8)
    static let digest = TreeDigest(of: plain)
    private static let key = [UInt8](0..<16)
    private static let vector = [UInt8](16..<32)

    @Sendable static func check(_ bytes: [UInt8]) throws(Violation) -> Bool {
        try seals(bytes)
        guard let out = open(bytes, digest) else { return false }
        try demand(out == plain, "opens to what nobody signed")
        return true
    }

    private static func open(_ sealed: [UInt8], _ digest: TreeDigest) -> [UInt8]? {
        var out: [UInt8] = []
        let contents = SourceSystemSeal.Contents(key: key, vector: vector, digest: digest)
        guard (try? contents.open(MemoryBytes(sealed)) { piece in out += piece }) != nil else { return nil }
        return out
    }

    private static func seals(_ plain: [UInt8]) throws(Violation) {
        let digest = TreeDigest(of: plain)
        var sealed: [UInt8] = []
        let contents = SourceSystemSeal.Contents(key: key, vector: vector, digest: digest)
        guard (try? contents.seal(MemoryBytes(plain)) { piece in sealed += piece }) != nil else {
            throw Violation("not sealed")
        }
        try demand(sealed.count == (plain.count / 16 + 1) * 16, "\(sealed.count) bytes of \(plain.count)")
        try demand(open(sealed, digest) == plain, "opens to something else")
        let place = fingerprint(plain) % sealed.count
        sealed[place] ^= UInt8(1 << (place % 8))
        try demand(open(sealed, digest) == nil, "opens although byte \(place) was changed")
    }
}
