// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreDatabase
import NacreJOSE
import NacreKeys

/// The keys under the identity tokens, shared by every process of one database and sealed there.
///
/// A new key is published before it signs, so that upstreams and other processes have seen it by then; the one before it
/// stays published until the last of its tokens is dead and every cached key set has been read anew.
package struct IdentityKeys: Sendable {
    /// How long a key is published before it signs: longer than the key set may be cached and the table goes unread.
    package static let lead: Duration = .seconds(900)
    /// How long a key stays published after its successor began to sign.
    package static let tail: Duration = .seconds(900)

    static let component = "gateway_identity"
    static let migrations = [
        Migration(
            1,
            """
            CREATE TABLE gateway_identity_key (
                id {id}, kid TEXT NOT NULL UNIQUE, sealed_key BYTEA NOT NULL, created_at BIGINT NOT NULL);
            """),
        // For how many milliseconds after its successor began to sign a key is still needed.
        Migration(2, "ALTER TABLE gateway_identity_key ADD COLUMN tail BIGINT NOT NULL DEFAULT 900000;"),
    ]

    private let database: Database
    private let keys: RotatingKeys

    /// Keys of which each is followed by a new one after `age`.
    init(
        database: Database, sealing: SealingKey, age: Duration, time: any TimeSource, random: any RandomSource, log: Log
    ) {
        self.database = database
        let table = SealedKeyTable(
            "gateway_identity_key", context: "gateway_identity_key/",
            refusal: (
                "gateway.identity_sealed",
                "The identity keys in the database do not open with this secret.key; give every process of one "
                    + "database the same file."
            ), database: database, sealing: sealing, random: random)
        keys = RotatingKeys(
            table, life: RotatingKeys.Life(lead: Self.lead, tail: Self.tail, age: age), time: time, log: log,
            event: "identity")
    }

    /// Makes the table and the first key in it; `first` is that key where there is none yet.
    ///
    /// - Throws: `gateway.identity_sealed` when the keys were sealed with another secret.
    func prepare(first: PrivateKey) async throws {
        try await database.migrate(Self.component, Self.migrations)
        try await keys.prepare(first: first)
    }

    /// Follows the present key by a new one, which signs after the lead time in every process.
    ///
    /// With `stolen` the keys so far are published no more and the new one signs at once. An upstream that has cached the
    /// key set trusts the old ones until it reads it again, which a token by the new key makes it do.
    package func rotate(stolen: Bool = false) async throws { try await keys.rotate(stolen: stolen) }

    /// Rotates a key that is old enough and removes those that nobody needs any more; call it every few minutes.
    func maintain() async throws { try await keys.maintain() }

    /// The key that signs now.
    func signer() async throws -> RotatingKeys.Entry { try await keys.signer() }

    /// The key set for `/.well-known/jwks.json`.
    func published() async -> [UInt8] {
        JSONWebKeySet(await keys.trusted().map { JSONWebKey($0.key.publicKey, id: $0.id) }).json.bytes
    }
}
