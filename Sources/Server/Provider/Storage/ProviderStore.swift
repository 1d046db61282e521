// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreDatabase

/// The provider's state in the database.
struct ProviderStore: Sendable {
    let database: Database

    func prepare() async throws {
        try await database.migrate(ProviderSchema.component, ProviderSchema.migrations)
    }

    /// How a secret stands in a table.
    static func hash(_ secret: String) -> SQLValue { .text(Hex.encode(SHA256.hash(secret))) }

    /// Bytes under `name`; made by `make` when there are none yet. Of two nodes that start at once, one wins.
    func setting(_ name: String, make: @Sendable () -> [UInt8]) async throws -> [UInt8] {
        let made = make()
        return try await database.write { sql in
            try sql.execute(
                "INSERT INTO provider_setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING",
                [.text(name), .blob(made)])
            guard let row = try sql.first("SELECT value FROM provider_setting WHERE name = $1", [.text(name)]) else {
                throw NacreError("provider.setting", "The provider's own settings cannot be stored.")
            }
            return try row.blob("value")
        }
    }

    /// Removes what has ended long enough ago that nobody can ask for it any more; how many rows, by table.
    @discardableResult
    func sweep(now: Instant) async throws -> [String: Int] {
        let ended = now - .seconds(3600)
        var removed: [String: Int] = [:]
        for rule in Self.retention { removed[rule.table] = try await database.remove(rule, ended) }
        return removed
    }

    private static let retention = [
        RetentionRule("provider_code", key: "id", where: "expires_at < $1"),
        RetentionRule("provider_token", key: "id", where: "expires_at < $1"),
        RetentionRule("provider_session", key: "id", where: "expires_at < $1"),
        RetentionRule(
            "provider_grant", key: "id",
            where: """
                created_at < $1 AND NOT EXISTS
                    (SELECT 1 FROM provider_token WHERE provider_token.grant_name = provider_grant.name)
                """),
    ]
}

/// A person who can sign in.
struct ProviderAccount: Sendable {
    var subject: String
    var username: String
    var email: String
    var name: String
    var givenName: String
    var familyName: String
    var locale: String
    var passwordHash: String
    var isDevelopment: Bool
}

extension ProviderStore {
    private static func account(_ row: SQLRow) throws(NacreError) -> ProviderAccount {
        ProviderAccount(
            subject: try row.text("subject"), username: try row.text("username"), email: try row.text("email"),
            name: try row.text("name"), givenName: try row.text("given_name"), familyName: try row.text("family_name"),
            locale: try row.text("locale"), passwordHash: try row.text("password_hash"),
            isDevelopment: try row.bool("is_development"))
    }

    /// The account of a user name or mail address, in any case.
    func account(named name: String) async throws -> ProviderAccount? {
        try await database.read { sql in
            try sql.first(
                "SELECT * FROM provider_account WHERE username = $1 OR email = $1", [.text(name.lowercased())]
            ).map { row throws(NacreError) in try Self.account(row) }
        }
    }

    func account(subject: String) async throws -> ProviderAccount? {
        try await database.read { sql in
            try sql.first("SELECT * FROM provider_account WHERE subject = $1", [.text(subject)])
                .map { row throws(NacreError) in try Self.account(row) }
        }
    }

    /// Adds an account.
    ///
    /// - Throws: `database.unique` when the name or address is taken.
    func add(_ account: ProviderAccount, now: Instant) async throws {
        try await database.write { sql in
            _ = try sql.execute(
                """
                INSERT INTO provider_account (subject, username, email, name, given_name, family_name, locale,
                    password_hash, is_development, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
                """,
                [
                    .text(account.subject), .text(account.username.lowercased()), .text(account.email.lowercased()),
                    .text(account.name), .text(account.givenName), .text(account.familyName), .text(account.locale),
                    .text(account.passwordHash), SQLValue(account.isDevelopment), SQLValue(now),
                ])
        }
    }

    func setPasswordHash(_ hash: String, subject: String) async throws {
        try await database.write { sql in
            _ = try sql.execute(
                "UPDATE provider_account SET password_hash = $1 WHERE subject = $2", [.text(hash), .text(subject)])
        }
    }

    /// The same unless the password has been changed meanwhile.
    func setPasswordHash(_ hash: String, subject: String, replacing old: String) async throws {
        try await database.write { sql in
            _ = try sql.execute(
                "UPDATE provider_account SET password_hash = $1 WHERE subject = $2 AND password_hash = $3",
                [.text(hash), .text(subject), .text(old)])
        }
    }

    /// PV-5: outside development nobody of the seeded people may be left, with whatever they signed in to.
    func removeDevelopmentAccounts() async throws {
        try await database.write { sql in
            let seeded = "(SELECT subject FROM provider_account WHERE is_development = 1)"
            try sql.execute("DELETE FROM provider_session WHERE subject IN \(seeded)")
            try sql.execute(
                """
                DELETE FROM provider_token WHERE grant_name IN
                    (SELECT name FROM provider_grant WHERE subject IN \(seeded))
                """)
            try sql.execute("DELETE FROM provider_grant WHERE subject IN \(seeded)")
            try sql.execute("DELETE FROM provider_account WHERE is_development = 1")
        }
    }
}
