// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreCrypto

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

extension DataFolder {
    /// Follows the identity's key by a new one, which a server uses from its next start on.
    func rotateIdentity() throws {
        try PrivateFile.replace(file("identity.pem"), Array(try PrivateKey.generate(.es256).pem.utf8))
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

    /// The keys in this folder, made at the first start.
    init(_ folder: DataFolder, random: any RandomSource) throws {
        let text = try folder.secret("secret.key") { random.token() }
        guard let secret = Base64URL.decode(text.filter { !$0.isWhitespace }), secret.count == 32 else {
            throw NacreError(
                "server.secret",
                "\(folder.file("secret.key")) is damaged; restore it, or every session must be renewed.")
        }
        sealing = try SealingKey(HKDFSHA256.derive(from: secret, info: "nacre sessions"))
        provider = HKDFSHA256.derive(from: secret, info: "nacre provider")
        embeddedClientSecret = Base64URL.encode(HKDFSHA256.derive(from: secret, info: "nacre embedded client"))
        installation = Hex.encode(HKDFSHA256.derive(from: secret, info: "nacre installation").prefix(16))
        identity = try PrivateKey(pem: folder.secret("identity.pem") { try PrivateKey.generate(.es256).pem })
        guard identity.algorithm == .es256 else {
            throw NacreError("server.identity", "\(folder.file("identity.pem")) must hold a P-256 key for ES256.")
        }
    }
}
