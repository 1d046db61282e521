// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
import NacreCrypto
import NacreDatabase

extension EmbeddedProvider {
    /// Somebody who can sign in, as the administrator sees them.
    package struct Person: Sendable {
        package let subject: String
        package let username: String
        package let email: String
        package let name: String
        package let isDevelopment: Bool
        package let createdAt: Instant
    }

    /// Removes what has ended; call it every few minutes, in one process at a time. How many rows, by table.
    @discardableResult
    package func sweep() async throws -> [String: Int] { try await core.store.sweep(now: core.time.now) }

    /// Everybody who can sign in, by name.
    package func people() async throws -> [Person] {
        try await core.store.database.read { sql in
            try sql.query(
                """
                SELECT subject, username, email, name, is_development, created_at FROM provider_account
                ORDER BY username
                """
            ).map { row in
                Person(
                    subject: try row.text("subject"), username: try row.text("username"), email: try row.text("email"),
                    name: try row.text("name"), isDevelopment: try row.bool("is_development"),
                    createdAt: try row.moment("created_at"))
            }
        }
    }

    /// Gives the person of this name or address another password and ends their sessions here; false when there is none.
    package func setPassword(_ password: String, of name: String) async throws -> Bool {
        guard let account = try await core.store.account(named: name) else { return false }
        try await core.store.setPasswordHash(try await core.hasher.hash(password), subject: account.subject)
        try await endEverything(of: account.subject, andTheAccount: false)
        return true
    }

    /// Removes the person of this name or address with everything they signed in to; false when there is none.
    package func removePerson(_ name: String) async throws -> Bool {
        guard let account = try await core.store.account(named: name) else { return false }
        try await endEverything(of: account.subject, andTheAccount: true)
        return true
    }

    private func endEverything(of subject: String, andTheAccount: Bool) async throws {
        try await core.store.database.write { sql in
            try sql.execute("DELETE FROM provider_session WHERE subject = $1", [.text(subject)])
            try sql.execute(
                "DELETE FROM provider_token WHERE grant_name IN (SELECT name FROM provider_grant WHERE subject = $1)",
                [.text(subject)])
            try sql.execute("DELETE FROM provider_grant WHERE subject = $1", [.text(subject)])
            guard andTheAccount else { return }
            try sql.execute("DELETE FROM provider_device WHERE subject = $1", [.text(subject)])
            try sql.execute("DELETE FROM provider_account WHERE subject = $1", [.text(subject)])
        }
    }
}
