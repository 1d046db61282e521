// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreDatabase

/// A piece of work that one process of several does at a time: whoever holds the lease. It passes on by itself when its
/// holder dies.
struct Lease: Sendable {
    static let component = "server"
    static let migrations = [
        Migration(
            1,
            """
            CREATE TABLE server_lease (
                name TEXT NOT NULL PRIMARY KEY, holder TEXT NOT NULL, expires_at BIGINT NOT NULL);
            """)
    ]

    let database: Database
    let name: String
    /// Who asks; another name for every process.
    let holder: String
    let time: any TimeSource

    /// Takes or renews the lease for `duration`; false while another process has it.
    func take(for duration: Duration) async throws -> Bool {
        let now = time.now
        let arguments: [SQLValue] = [.text(name), .text(holder), SQLValue(now + duration), SQLValue(now)]
        return try await database.write { sql in
            try sql.first(
                // guard: lease-holder
                """
                INSERT INTO server_lease (name, holder, expires_at) VALUES ($1, $2, $3)
                ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
                WHERE server_lease.holder = excluded.holder OR server_lease.expires_at <= $4
                RETURNING holder
                """, arguments) != nil
        }
    }
}
