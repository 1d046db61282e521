// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreDatabase
import NacreJOSE
import Synchronization

/// The keys under the identity tokens, shared by every process of one database and sealed there.
///
/// A new key is published before it signs, so that upstreams and other processes have seen it by then; the one before it
/// stays published until the last of its tokens is dead and every cached key set has been read anew.
package final class IdentityKeys: Sendable {
    /// How long a key is published before it signs: longer than the key set may be cached and the table goes unread.
    package static let lead: Duration = .seconds(900)
    /// How long a key stays published after its successor began to sign.
    package static let tail: Duration = .seconds(900)
    /// How often the table is read again.
    static let refresh: Duration = .seconds(60)

    static let component = "gateway_identity"
    static let migrations = [
        Migration(
            1,
            """
            CREATE TABLE gateway_identity_key (
                id {id}, kid TEXT NOT NULL UNIQUE, sealed_key BYTEA NOT NULL, created_at BIGINT NOT NULL);
            """)
    ]

    struct Entry: Sendable {
        let id: String
        let key: PrivateKey
        let created: Instant
    }

    private struct State {
        var entries: [Entry] = []
        var published: [UInt8] = []
        var loadedAt: Instant?
        var isLoading = false
    }

    private let database: Database
    private let sealing: SealingKey
    /// After so long a key is followed by a new one.
    private let age: Duration
    private let time: any TimeSource
    private let random: any RandomSource
    private let log: Log
    private let state = Mutex(State())

    init(
        database: Database, sealing: SealingKey, age: Duration, time: any TimeSource, random: any RandomSource, log: Log
    ) {
        self.database = database
        self.sealing = sealing
        self.age = age
        self.time = time
        self.random = random
        self.log = log
    }

    /// Makes the table and the first key in it; `first` is that key where there is none yet.
    ///
    /// - Throws: `gateway.identity_sealed` when the keys were sealed with another secret.
    func prepare(first: PrivateKey) async throws {
        try await database.migrate(Self.component, Self.migrations)
        let row = try row(first)
        try await database.write { sql in
            let count = try sql.first("SELECT COUNT(*) AS number FROM gateway_identity_key")?.integer("number")
            if count == 0 { try Self.insert(row, sql) }
        }
        try await load()
    }

    /// Follows the present key by a new one, which signs after the lead time in every process.
    package func rotate() async throws {
        let row = try row(.generate(.es256))
        try await database.write { sql in try Self.insert(row, sql) }
        log.notice("identity.key_added", ["kid": .string(row.id)])
        try await load()
    }

    /// Rotates a key that is old enough and removes those that nobody needs any more; call it every few minutes.
    func maintain() async throws {
        let row = try row(.generate(.es256))
        let (now, age) = (time.now, age)
        let added = try await database.write { sql -> Bool in
            let keys = try sql.query("SELECT kid, created_at FROM gateway_identity_key ORDER BY created_at, id")
            for (key, next) in zip(keys, keys.dropFirst()) {
                // Gone only once its successor has signed for so long that every token of it is dead.
                let end = try next.moment("created_at") + Self.lead + Self.tail
                guard now >= end else { continue }  // guard: identity-key-tail
                try sql.execute("DELETE FROM gateway_identity_key WHERE kid = $1", [.text(try key.text("kid"))])
            }
            guard let newest = try keys.last?.moment("created_at"), now >= newest + age else { return false }
            try Self.insert(row, sql)
            return true
        }
        if added { log.notice("identity.key_added", ["kid": .string(row.id)]) }
        try await load()
    }

    /// The key that signs now.
    ///
    /// - Throws: `gateway.identity_key` before `prepare`.
    func signer() async throws -> Entry {
        await refreshIfOld()
        let now = time.now
        let entry = state.withLock { state in
            // guard: identity-key-lead
            state.entries.last { $0.created + Self.lead <= now } ?? state.entries.first
        }
        guard let entry else { throw NacreError("gateway.identity_key", "There is no identity key; start again.") }
        return entry
    }

    /// The key set for `/.well-known/jwks.json`.
    func published() async -> [UInt8] {
        await refreshIfOld()
        return state.withLock { $0.published }
    }

    /// Another process may have added a key. When the database does not answer, the keys known so far serve on.
    private func refreshIfOld() async {
        let now = time.now
        let isMine = state.withLock { state in
            guard !state.isLoading, state.loadedAt.map({ now - $0 >= Self.refresh }) ?? true else { return false }
            state.isLoading = true
            return true
        }
        guard isMine else { return }
        do { try await load() } catch { log.warning("identity.keys_unread", ["error": .string("\(error)")]) }
        state.withLock { state in
            state.isLoading = false
            state.loadedAt = now
        }
    }

    private func load() async throws {
        let rows = try await database.read { sql in
            try sql.query("SELECT kid, sealed_key, created_at FROM gateway_identity_key ORDER BY created_at, id")
        }
        let known = state.withLock { $0.entries }
        let entries = try rows.map { row throws -> Entry in
            let id = try row.text("kid")
            let created = try row.moment("created_at")
            if let entry = known.first(where: { $0.id == id }) { return entry }
            return Entry(id: id, key: try opened(try row.blob("sealed_key"), id), created: created)
        }
        let keys = JSONWebKeySet(entries.map { JSONWebKey($0.key.publicKey, id: $0.id) }).json.bytes
        let now = time.now
        state.withLock { state in
            state.entries = entries
            state.published = keys
            state.loadedAt = now
        }
    }

    private func opened(_ sealed: [UInt8], _ id: String) throws -> PrivateKey {
        let text: [UInt8]
        do { text = try sealing.open(sealed, context: Self.context(id)) } catch {
            throw NacreError(
                "gateway.identity_sealed",
                "The identity keys in the database do not open with this secret.key; give every process of one "
                    + "database the same file.", cause: error)
        }
        return try PrivateKey(pem: String(decoding: text, as: UTF8.self))
    }

    private struct Row: Sendable {
        let id: String
        let sealed: [UInt8]
        let created: Instant
    }

    private func row(_ key: PrivateKey) throws(NacreError) -> Row {
        let id = JSONWebKey.thumbprint(of: key.publicKey)
        return Row(
            id: id, sealed: try sealing.seal(key.pem.utf8, context: Self.context(id), random: random),
            created: time.now)
    }

    private static func insert(_ row: Row, _ sql: any SQLConnection) throws(NacreError) {
        try sql.execute(
            "INSERT INTO gateway_identity_key (kid, sealed_key, created_at) VALUES ($1, $2, $3)",
            [.text(row.id), .blob(row.sealed), SQLValue(row.created)])
    }

    private static func context(_ id: String) -> [UInt8] { Array("gateway_identity_key/\(id)".utf8) }
}
