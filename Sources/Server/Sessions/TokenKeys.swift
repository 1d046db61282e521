// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreDatabase
import NacreJOSE

/// The keys (ES256) under access and refresh tokens. They lie sealed in the database, so that every process signs and
/// verifies alike; they sign nothing else.
actor TokenKeys {
    /// A key signs for so long; the next one follows by itself.
    private static let signing: Duration = .seconds(90 * 86400)
    /// Tokens that name a key nobody has cause one look at the table in so long, however many they are.
    private static let reloadInterval: Duration = .seconds(10)

    private let store: SessionStore
    private var keys: [(id: String, key: PrivateKey, createdAt: Instant)] = []
    private var loadedAt: Instant?
    private var loading: Task<Void, any Error>?

    init(_ store: SessionStore) { self.store = store }

    /// The key to sign with, made where there is none that is young enough.
    func signer() async throws -> (id: String, key: PrivateKey) {
        if let key = young { return key }
        try await load()
        if let key = young { return key }
        let key = try PrivateKey.generate(.es256)
        let id = JSONWebKey.thumbprint(of: key.publicKey)
        let sealed = try store.sealing.seal(Array(key.pem.utf8), context: Self.context(id), random: store.random)
        let now = store.time.now
        try await store.database.write { sql in
            _ = try sql.execute(
                "INSERT INTO session_key (kid, sealed_key, created_at) VALUES ($1, $2, $3)",
                [.text(id), .blob(sealed), SQLValue(now)])
        }
        try await load()
        return (id, key)
    }

    /// The public half of the key called `id`, or nil.
    func verifier(_ id: String) async throws -> PublicKey? {
        if let found = keys.first(where: { $0.id == id }) { return found.key.publicKey }
        // While the table is being read nobody knows that there is no such key.
        if loading == nil, let loadedAt, store.time.now - loadedAt < Self.reloadInterval {  // guard: token-key-storm
            return nil
        }
        try await load()
        return keys.first { $0.id == id }?.key.publicKey
    }

    private var young: (id: String, key: PrivateKey)? {
        guard let newest = keys.first, store.time.now - newest.createdAt < Self.signing else { return nil }
        return (newest.id, newest.key)
    }

    /// Reads the table, once for all who ask meanwhile.
    private func load() async throws {
        if let loading { return try await loading.value }
        let task = Task { try await read() }
        loading = task
        defer { loading = nil }
        try await task.value
    }

    private func read() async throws {
        let rows = try await store.database.read { sql in
            try sql.query("SELECT kid, sealed_key, created_at FROM session_key ORDER BY created_at DESC, row_id DESC")
        }
        keys = try rows.map { row in
            let id = try row.text("kid")
            let pem = try store.sealing.open(row.blob("sealed_key"), context: Self.context(id))
            return (id, try PrivateKey(pem: String(decoding: pem, as: UTF8.self)), try row.moment("created_at"))
        }
        // Only now: an outage must not make every token unknown.
        loadedAt = store.time.now
    }

    private static func context(_ id: String) -> [UInt8] { Array("session/key/\(id)".utf8) }
}
