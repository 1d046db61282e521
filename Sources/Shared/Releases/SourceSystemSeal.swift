// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore
public import NacreCrypto

/// The two signature fields of the source system's releases (UP-3, UP-5): an AES-128 key of this one release, and the
/// SHA-256 of the plain archive, each in an RSA-2048 block of the publisher's key.
///
/// Whoever holds the app can read the key, so the encryption hides a bundle from its host only, and the key block proves
/// nothing. What proves a bundle is the digest, and nothing but the digest.
public struct SourceSystemSeal: Sendable, Equatable {
    /// The key block behind its vector: base64 of 16 bytes, a colon, base64 of 256 bytes; 369 characters.
    public let sessionKey: String
    /// The digest's block: 512 lower-case hexadecimal digits.
    public let checksum: String

    static let blockLength = 256
    private static let vectorText = 24
    private static let keyText = 344

    /// The fields as a manifest has them, unchecked; `open` checks them.
    public init(sessionKey: String, checksum: String) {
        self.sessionKey = sessionKey
        self.checksum = checksum
    }

    /// What the fields hold.
    public struct Contents: Sendable, Equatable {
        /// The AES key and its vector, 16 bytes each.
        public let key: [UInt8]
        public let vector: [UInt8]
        /// Of the plain archive.
        public let digest: TreeDigest

        package init(key: [UInt8], vector: [UInt8], digest: TreeDigest) {
            (self.key, self.vector, self.digest) = (key, vector, digest)
        }
    }

    /// Reads both fields with the publisher's public key.
    ///
    /// - Throws: `release.session_key` or `release.checksum` that says what is wrong.
    public func open(with key: PublicKey) throws(NacreError) -> Contents {
        guard key.rsaBits == 2048 else {
            throw NacreError("release.key", "The update key of this app is not an RSA key of 2048 bits.")
        }
        let parts = sessionKey.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].count == Self.vectorText, parts[1].count == Self.keyText,
            let vector = Base64.decode(Substring(parts[0])), vector.count == AES128CBC.blockSize,
            let block = Base64.decode(Substring(parts[1])), block.count == Self.blockLength
        else {
            throw NacreError("release.session_key", "The release's sessionKey is missing or damaged.")
        }
        // guard: seal-session-key
        guard let session = key.payload(ofBlock: block), session.count == AES128CBC.blockSize else {
            throw NacreError("release.session_key", "The release's sessionKey was not made with this app's key.")
        }
        let digest = key.payload(ofBlock: try checksumBlock()).flatMap(TreeDigest.init(bytes:))
        guard let digest else {
            throw NacreError("release.checksum", "The release's checksum was not made with this app's key.")
        }
        return Contents(key: session, vector: vector, digest: digest)
    }

    /// The digest's block: hexadecimal in lower case and no other spelling, for by its checksum a release is known again.
    private func checksumBlock() throws(NacreError) -> [UInt8] {
        let block = Hex.decode(checksum)
        // guard: seal-checksum-form
        guard let block, block.count == Self.blockLength, Hex.encode(block) == checksum else {
            throw NacreError("release.checksum", "The release's checksum \(checksumFault).")
        }
        return block
    }

    /// What stands there instead, of what publishers have written over the years.
    private var checksumFault: String {
        switch checksum.utf8.count {
        case 0: "is missing"
        case 8 where Hex.decode(checksum) != nil: "is a CRC-32, which proves nothing; publish with a newer tool"
        case 64 where Hex.decode(checksum) != nil: "is not signed; publish with the key"
        case 344 where Base64.decode(checksum) != nil: "is of an older form, in base64; publish with a newer tool"
        case 512 where Hex.decode(checksum) != nil: "is not in lower case"
        default: "is damaged"
        }
    }

    /// Makes both fields.
    ///
    /// - Throws: `release.key` unless the key is RSA-2048, `crypto.*`.
    public static func make(
        for digest: TreeDigest, with key: PrivateKey, random: any RandomSource
    ) throws(NacreError) -> (seal: SourceSystemSeal, contents: Contents) {
        guard key.publicKey.rsaBits == 2048 else {
            throw NacreError("release.key", "Releases are signed with an RSA key of 2048 bits; make one with keygen.")
        }
        let session = random.bytes(AES128CBC.blockSize)
        let vector = random.bytes(AES128CBC.blockSize)
        let seal = SourceSystemSeal(
            sessionKey: Base64.encode(vector) + ":" + Base64.encode(try key.rsaBlock(of: session)),
            checksum: Hex.encode(try key.rsaBlock(of: digest.bytes)))
        return (seal, Contents(key: session, vector: vector, digest: digest))
    }

    /// The key's name for a manifest: the first 20 characters of the PKCS #1 PEM's body.
    public static func keyName(_ key: PublicKey) -> String? {
        key.pkcs1PEM.map { pem in
            String(pem.split(separator: "\n").dropFirst().joined().prefix(20))
        }
    }
}
