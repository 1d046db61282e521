// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreSQLite

/// One attempt as it stands on disk. Nothing secret is in clear: the verifier, the token and the credentials are sealed.
package struct AttemptRecord: Sendable, Equatable {
    package let id: String
    package var phase: AttemptPhase
    /// Sent with the request and echoed in the link; says that a link belongs to this attempt, and is no secret after.
    package let flow: String
    package let startedAt: Instant
    /// `{verifier, token?}` of a sign-in, `{cookies, csrf}` of a sign-out.
    package var sealed: [UInt8]

    package init(id: String, phase: AttemptPhase, flow: String, startedAt: Instant, sealed: [UInt8]) {
        self.id = id
        self.phase = phase
        self.flow = flow
        self.startedAt = startedAt
        self.sealed = sealed
    }
}

/// A revocation the server has not taken yet.
package struct PendingRevocation: Sendable, Equatable {
    package let id: String
    package let sealed: [UInt8]
    package let since: Instant

    package init(id: String, sealed: [UInt8], since: Instant) {
        self.id = id
        self.sealed = sealed
        self.since = since
    }
}

/// Where attempts and revocations rest; each write is durable when it returns.
package protocol AttemptStore: Sendable {
    func attempts() async throws -> [AttemptRecord]
    func save(_ record: AttemptRecord) async throws
    /// Removes an attempt; keeps, in the same transaction, a revocation where one remains.
    func remove(_ id: String, keeping revocation: PendingRevocation?) async throws
    func revocations() async throws -> [PendingRevocation]
    func keep(_ revocation: PendingRevocation) async throws
    func removeRevocation(_ id: String) async throws
}

/// A durable note outside the secret store that the person has signed out, for a sign-out while that store is locked.
package protocol SignOutMark: Sendable {
    func isSet() async -> Bool
    func set() async
    func clear() async
}

/// The attempts in a SQLite file of their own.
package struct SQLiteAttemptStore: AttemptStore {
    package static let migrations = [
        SQLiteMigration(
            1,
            """
            CREATE TABLE attempt (id TEXT PRIMARY KEY, phase TEXT NOT NULL, flow TEXT NOT NULL,
              started_at INTEGER NOT NULL, sealed BLOB NOT NULL) WITHOUT ROWID;
            CREATE TABLE revocation (id TEXT PRIMARY KEY, sealed BLOB NOT NULL, since INTEGER NOT NULL) WITHOUT ROWID;
            """),
        SQLiteMigration(2, "CREATE TABLE sign_out_mark (id INTEGER PRIMARY KEY CHECK (id = 1))"),
    ]

    private let store: SQLiteStore

    /// The attempts in `store`, whose file is their own.
    package init(_ store: SQLiteStore, now: Instant) async throws {
        self.store = store
        try await store.migrate(Self.migrations, now: now)
    }

    package func attempts() async throws -> [AttemptRecord] {
        try await store.run { connection in
            try connection.query("SELECT id, phase, flow, started_at, sealed FROM attempt ORDER BY started_at")
                .compactMap {
                    guard let id = $0["id"].text, let phase = $0["phase"].text.flatMap(AttemptPhase.init(rawValue:)),
                        let flow = $0["flow"].text, let started = $0["started_at"].integer,
                        let sealed = $0["sealed"].blob
                    else { return nil }
                    return AttemptRecord(
                        id: id, phase: phase, flow: flow, startedAt: Instant(milliseconds: started), sealed: sealed)
                }
        }
    }

    package func save(_ record: AttemptRecord) async throws {
        try await store.transaction { connection in
            _ = try connection.execute(
                "INSERT OR REPLACE INTO attempt (id, phase, flow, started_at, sealed) VALUES ($1, $2, $3, $4, $5)",
                [
                    .text(record.id), .text(record.phase.rawValue), .text(record.flow),
                    .integer(record.startedAt.milliseconds), .blob(record.sealed),
                ])
        }
    }

    package func remove(_ id: String, keeping revocation: PendingRevocation?) async throws {
        try await store.transaction { connection in
            if let revocation { try Self.insert(revocation, connection) }
            _ = try connection.execute("DELETE FROM attempt WHERE id = $1", [.text(id)])
        }
    }

    package func revocations() async throws -> [PendingRevocation] {
        try await store.run { connection in
            try connection.query("SELECT id, sealed, since FROM revocation ORDER BY since").map {
                PendingRevocation(
                    id: $0["id"].text ?? "", sealed: $0["sealed"].blob ?? [],
                    since: Instant(milliseconds: $0["since"].integer ?? 0))
            }
        }
    }

    package func keep(_ revocation: PendingRevocation) async throws {
        try await store.transaction { connection in try Self.insert(revocation, connection) }
    }

    package func removeRevocation(_ id: String) async throws {
        try await store.transaction { connection in
            _ = try connection.execute("DELETE FROM revocation WHERE id = $1", [.text(id)])
        }
    }

    private static func insert(_ revocation: PendingRevocation, _ connection: borrowing SQLiteConnection) throws {
        _ = try connection.execute(
            "INSERT OR REPLACE INTO revocation (id, sealed, since) VALUES ($1, $2, $3)",
            [.text(revocation.id), .blob(revocation.sealed), .integer(revocation.since.milliseconds)])
    }
}

extension SQLiteAttemptStore: SignOutMark {
    package func isSet() async -> Bool {
        let rows = try? await store.run { connection in try connection.query("SELECT id FROM sign_out_mark") }
        return rows?.isEmpty == false
    }

    package func set() async { await write("INSERT OR IGNORE INTO sign_out_mark (id) VALUES (1)") }

    package func clear() async { await write("DELETE FROM sign_out_mark") }

    /// A disk that takes no write has been said already by whoever asked.
    private func write(_ statement: String) async {
        _ = try? await store.transaction { connection in _ = try connection.execute(statement) }
    }
}
