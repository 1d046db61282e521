// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
import NacreCrypto
package import NacrePorts
package import NacreSQLite

/// What is remembered of links beyond the life of the process (HO-9).
///
/// Of a link that was consumed only a digest is kept, so that no token is ever on disk. A link for the page is kept whole
/// until it is handed over, so that one that arrives just before a kill is not lost.
package struct LinkJournal: Sendable {
    package static let migrations = [
        SQLiteMigration(
            1,
            """
            CREATE TABLE spent_link (digest BLOB PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
            CREATE TABLE waiting_link (id TEXT PRIMARY KEY, url TEXT NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID;
            """)
    ]
    /// A one-time link lives for a minute, its attempt for 15; after a day nobody replays it with effect.
    static let memory: Duration = .seconds(24 * 3600)
    /// A link for the page that could not be handed over in this time belongs to another day.
    static let patience: Duration = .seconds(600)

    private let store: SQLiteStore

    /// The journal in `store`, whose file is its own.
    package init(_ store: SQLiteStore, now: Instant) async throws {
        self.store = store
        try await store.migrate(Self.migrations, now: now)
        try await store.transaction { connection in
            try connection.execute(
                "DELETE FROM spent_link WHERE at < $1", [.integer((now - Self.memory).milliseconds)])
            try connection.execute(
                "DELETE FROM waiting_link WHERE at < $1", [.integer((now - Self.patience).milliseconds)])
        }
    }

    func isSpent(_ url: String) async throws -> Bool {
        let digest = SHA256.hash(url)
        return try await store.run { connection in
            try !connection.query("SELECT 1 FROM spent_link WHERE digest = $1", [.blob(digest)]).isEmpty
        }
    }

    func spend(_ url: String, now: Instant) async throws {
        let digest = SHA256.hash(url)
        try await store.transaction { connection in
            _ = try connection.execute(
                "INSERT OR IGNORE INTO spent_link (digest, at) VALUES ($1, $2)",
                [.blob(digest), .integer(now.milliseconds)])
        }
    }

    package func keep(_ link: IncomingLink, now: Instant) async throws {
        try await store.transaction { connection in
            _ = try connection.execute(
                "INSERT OR REPLACE INTO waiting_link (id, url, at) VALUES ($1, $2, $3)",
                [.text(link.id), .text(link.url), .integer(now.milliseconds)])
        }
    }

    /// Links that wait for the page, oldest first.
    package func waiting() async throws -> [IncomingLink] {
        try await store.run { connection in
            try connection.query("SELECT id, url FROM waiting_link ORDER BY at, id").map {
                IncomingLink(id: $0["id"].text ?? "", url: $0["url"].text ?? "")
            }
        }
    }

    /// Takes one out, before it is handed over: at most once, whatever happens then.
    func take(_ link: IncomingLink) async throws {
        try await store.transaction { connection in
            _ = try connection.execute("DELETE FROM waiting_link WHERE id = $1", [.text(link.id)])
        }
    }
}
