// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreDatabase

/// The keys of one server half.
struct ServerKeys: Sendable {
    /// Seals tokens at rest.
    let sealing: SealingKey
    /// Seals what the embedded provider keeps.
    let provider: [UInt8]
    /// The secret between the gateway and the embedded provider.
    let embeddedClientSecret: String
    /// Signs identities for the upstream.
    let identity: PrivateKey
    /// Names the installation; no secret.
    let installation: String

    /// The keys of this secret (base64url), or of the one in the folder, which is made at the first start.
    init(_ folder: DataFolder, secret configured: String? = nil, random: any RandomSource) throws {
        let secret = try Self.master(folder, configured, random)
        let text = try folder.secret("identity.pem") { try PrivateKey.generate(.es256).pem }
        try self.init(secret: secret, identity: text, from: folder.file("identity.pem"))
    }

    /// The same for one of several nodes: what they share stands in the database, sealed with the secret. A folder that
    /// served alone before brings its identity key along.
    ///
    /// - Throws: `server.secret_differs` when the database was made with another secret.
    init(
        _ folder: DataFolder, secret configured: String?, sharedBy database: Database, time: any TimeSource,
        random: any RandomSource
    ) async throws {
        let secret = try Self.master(folder, configured, random)
        let shared = SharedKeys(
            database: database, sealing: try SealingKey(HKDFSHA256.derive(from: secret, info: "nacre shared keys")),
            time: time, random: random)
        try await shared.prepare()
        let text = try await shared.value("identity") {
            try folder.existing("identity.pem") ?? PrivateKey.generate(.es256).pem
        }
        try self.init(secret: secret, identity: text, from: "The database's identity key")
    }

    private init(secret: [UInt8], identity text: String, from place: String) throws {
        sealing = try SealingKey(HKDFSHA256.derive(from: secret, info: "nacre sessions"))
        provider = HKDFSHA256.derive(from: secret, info: "nacre provider")
        embeddedClientSecret = Base64URL.encode(HKDFSHA256.derive(from: secret, info: "nacre embedded client"))
        installation = Self.installation(of: secret)
        identity = try PrivateKey(pem: text)
        guard identity.algorithm == .es256 else {
            throw NacreError("server.identity", "\(place) must hold a P-256 key for ES256.")
        }
    }

    private static func master(
        _ folder: DataFolder, _ configured: String?, _ random: any RandomSource
    ) throws -> [UInt8] {
        if let secret = configured.flatMap(secret) { return secret }
        guard let secret = secret(try folder.secret("secret.key") { random.token() }) else {
            throw NacreError(
                "server.secret",
                "\(folder.file("secret.key")) is damaged; restore it, or every session must be renewed.")
        }
        return secret
    }

    /// The name of the installation that has this secret.
    static func installation(of secret: [UInt8]) -> String {
        Hex.encode(HKDFSHA256.derive(from: secret, info: "nacre installation").prefix(16))
    }

    /// The 32 bytes of a secret's text, or nil when it is none.
    static func secret(_ text: String) -> [UInt8]? {
        Base64URL.decode(text.filter { !$0.isWhitespace }).flatMap { $0.count == 32 ? $0 : nil }
    }
}
