// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreCrypto
import NacreDatabase

/// The folder for databases and keys, which only this user may enter.
struct DataFolder: Sendable {
    let path: String

    /// Makes the folder where it is missing.
    ///
    /// - Throws: `server.data` that says what to do.
    init(_ path: String) throws(NacreError) {
        self.path = path
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw NacreError(
                "server.data", "The folder \(path) cannot be made; set \"data\" (NACRE_DATA) to one that can.",
                cause: error)
        }
    }

    /// The path of a file in it.
    func file(_ name: String) -> String { path + "/" + name }

    /// The file that says that a restore began and has not ended.
    static let restoreMark = "restore.incomplete"

    /// - Throws: `server.half_restored`: starting now would make new keys beside old data.
    func refuseHalfRestored() throws(NacreError) {
        guard !FileManager.default.fileExists(atPath: file(Self.restoreMark)) else {  // guard: half-restored
            throw NacreError(
                "server.half_restored",
                "A restore into \(path) was interrupted; run nacre admin restore again with the same file and --force.")
        }
    }

    /// The text of a secret file, or nil where there is none.
    func existing(_ name: String) throws -> String? {
        guard FileManager.default.fileExists(atPath: file(name)) else { return nil }
        return try secret(name) { "" }
    }

    /// The text of a secret file, made by `make` and written for this user alone where it is missing.
    ///
    /// - Throws: `server.data`; a file that cannot be read is never replaced.
    func secret(_ name: String, make: () throws -> String) throws -> String {
        let place = file(name)
        let manager = FileManager.default
        if manager.fileExists(atPath: place) {
            do { return try String(contentsOfFile: place, encoding: .utf8) } catch {
                throw NacreError("server.data", "\(place) cannot be read; give this user permission.", cause: error)
            }
        }
        let text = try make()
        // Created whole under another name, so that a crash leaves no half of a key behind.
        let draft = place + ".new"
        guard manager.createFile(atPath: draft, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
        else {
            throw NacreError("server.data", "\(draft) cannot be written; check the folder's permission and the disk.")
        }
        try manager.moveItem(atPath: draft, toPath: place)
        return text
    }
}

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
        installation = Hex.encode(HKDFSHA256.derive(from: secret, info: "nacre installation").prefix(16))
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

    /// The 32 bytes of a secret's text, or nil when it is none.
    static func secret(_ text: String) -> [UInt8]? {
        Base64URL.decode(text.filter { !$0.isWhitespace }).flatMap { $0.count == 32 ? $0 : nil }
    }
}
