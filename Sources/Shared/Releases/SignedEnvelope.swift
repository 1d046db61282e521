// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore
public import NacreCrypto

/// Exact bytes and who signed them.
///
/// What is signed is the payload as it stands here, never JSON written anew, behind the name of its purpose: a signature
/// over one kind of statement is none over another.
public struct SignedEnvelope: Sendable, Equatable {
    /// What a payload is for.
    public enum Purpose: String, Sendable {
        case release = "nacre release 1\n"
        case keySet = "nacre key set 1\n"
        case freshness = "nacre freshness 1\n"
    }

    /// One signature and the name of its key.
    public struct Signature: Sendable, Equatable {
        public let key: String
        /// `Ed25519`, or one of later days, which is kept and counts for nothing here.
        public let algorithm: String
        public let bytes: [UInt8]
    }

    private static let algorithm = "Ed25519"

    /// The signed bytes.
    public let payload: [UInt8]
    public let signatures: [Signature]

    /// More than this many signatures are no envelope.
    static let maximumSignatures = 16

    /// Signs `payload` with each of `keys`.
    ///
    /// - Throws: `crypto.sign`.
    public init(signing payload: [UInt8], for purpose: Purpose, with keys: [PrivateKey]) throws(NacreError) {
        self.payload = payload
        var signatures: [Signature] = []
        for key in keys {
            signatures.append(
                Signature(
                    key: ReleaseKey(key.publicKey).name, algorithm: Self.algorithm,
                    bytes: try key.signature(of: Array(purpose.rawValue.utf8) + payload)))
        }
        self.signatures = signatures
    }

    /// Reads `{payload, signatures: [{key, alg, sig}]}`.
    ///
    /// - Throws: `release.envelope`.
    public init(_ value: JSONValue) throws(NacreError) {
        let fault = NacreError("release.envelope", "The release's signed part is damaged.")
        guard let members = value.object, Set(members.keys) == ["payload", "signatures"],
            let payload = members["payload"]?.string.flatMap({ Base64.decode($0) }),
            let list = members["signatures"]?.array, (1...Self.maximumSignatures).contains(list.count)
        else { throw fault }
        var signatures: [Signature] = []
        for item in list {
            guard let members = item.object, Set(members.keys) == ["key", "alg", "sig"],
                let key = members["key"]?.string, let algorithm = members["alg"]?.string,
                let bytes = members["sig"]?.string.flatMap({ Base64.decode($0) })
            else { throw fault }
            signatures.append(Signature(key: key, algorithm: algorithm, bytes: bytes))
        }
        self.payload = payload
        self.signatures = signatures
    }

    /// As JSON.
    public var json: JSONValue {
        [
            "payload": .string(Base64.encode(payload)),
            "signatures": .array(
                signatures.map {
                    ["key": .string($0.key), "alg": .string($0.algorithm), "sig": .string(Base64.encode($0.bytes))]
                }),
        ]
    }

    /// The keys among `keys` of which a valid signature is here; one key counts once.
    public func signers(among keys: [ReleaseKey], for purpose: Purpose) -> Set<ReleaseKey> {
        let message = Array(purpose.rawValue.utf8) + payload
        var found: Set<ReleaseKey> = []
        for signature in signatures where signature.algorithm == Self.algorithm {  // guard: envelope-algorithm
            // Of several keys under one name, which nobody makes by chance, each is tried.
            for key in keys where key.name == signature.key {
                if key.isValid(signature.bytes, for: message) { found.insert(key) }  // guard: envelope-signature
            }
        }
        return found
    }
}

/// An Ed25519 key that signs releases, key sets or freshness statements.
public struct ReleaseKey: Hashable, Sendable {
    /// The 32 bytes of the key.
    public let bytes: [UInt8]
    /// The first 16 hexadecimal digits of the SHA-256 of the key.
    public let name: String

    /// The key of these 32 bytes; nil for what is no such key.
    public init?(_ bytes: [UInt8]) {
        guard let key = try? PublicKey(.ed25519(bytes)) else { return nil }
        self.init(key)
    }

    /// The key in base64, as configuration files have it.
    public init?(base64: some StringProtocol) {
        guard let bytes = Base64.decode(base64) else { return nil }
        self.init(bytes)
    }

    package init(_ key: PublicKey) {
        if case .ed25519(let bytes) = key.components { self.bytes = bytes } else { bytes = [] }
        name = String(Hex.encode(SHA256.hash(bytes)).prefix(16))
    }

    /// The key in base64.
    public var base64: String { Base64.encode(bytes) }

    func isValid(_ signature: [UInt8], for message: [UInt8]) -> Bool {
        guard let key = try? PublicKey(.ed25519(bytes)) else { return false }
        return key.isValid(signature, for: message)
    }
}
