// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreDatabase

/// One round trip to the identity provider that has not come back yet (HO-2, HO-7).
struct PendingRecord: Sendable {
    enum Kind: String, Sendable {
        case signIn = "sign_in"
        case signOut = "sign_out"
    }

    let kind: Kind
    /// The app that waits; nil for a web page.
    let scheme: String?
    /// The app's PKCE challenge.
    let challenge: String?
    /// What the app wants echoed.
    let flow: String?
    /// Where a web page goes on.
    let returnTo: String?
    /// The nonce of the authorization request, and the verifier of its own PKCE.
    var nonce = ""
    var verifier = ""
}

/// The pending records of the browsers. Each belongs to one `state` and one secret, which only the browser that began it
/// has, in a cookie of that round trip alone; taking it removes it.
struct PendingStore: Sendable {
    /// A record older than this is ignored.
    static let lifetime: Duration = .seconds(600)
    static let component = "gateway"
    static let migrations = [
        Migration(
            1,
            """
            CREATE TABLE gateway_pending (
                row_id {id}, state BYTEA NOT NULL UNIQUE, browser BYTEA NOT NULL, kind TEXT NOT NULL, scheme TEXT,
                challenge TEXT, flow TEXT, return_to TEXT, secrets BYTEA NOT NULL, created_at BIGINT NOT NULL);
            CREATE INDEX gateway_pending_browser ON gateway_pending (browser);
            CREATE INDEX gateway_pending_created ON gateway_pending (created_at);
            CREATE TABLE gateway_handoff (
                token BYTEA NOT NULL PRIMARY KEY, session TEXT NOT NULL, challenge TEXT NOT NULL,
                expires_at BIGINT NOT NULL);
            CREATE TABLE gateway_logout_seen (token_id TEXT NOT NULL PRIMARY KEY, expires_at BIGINT NOT NULL);
            """),
        // One secret for each round trip instead of one name for all of a browser's.
        Migration(
            2,
            """
            DROP INDEX gateway_pending_browser;
            ALTER TABLE gateway_pending RENAME COLUMN browser TO secret;
            """),
        // What the sweep asks for; the requests themselves remove nothing that is not theirs.
        Migration(
            3,
            """
            CREATE INDEX gateway_handoff_expires ON gateway_handoff (expires_at);
            CREATE INDEX gateway_logout_seen_expires ON gateway_logout_seen (expires_at);
            """),
    ]

    let database: Database
    let sealing: SealingKey
    let time: any TimeSource
    let random: any RandomSource

    private static func hash(_ text: String) -> [UInt8] { SHA256.hash(text) }
    private static func context(_ state: [UInt8]) -> [UInt8] { Array("pending/".utf8) + state }

    /// Remembers a round trip under `state`.
    ///
    /// - Returns: The secret of 256 bits with which it is taken again; only its hash is stored.
    func add(_ record: PendingRecord, state: String) async throws -> String {
        let secret = random.token()
        let stateHash = Self.hash(state)
        let inner: JSONValue = ["n": .string(record.nonce), "v": .string(record.verifier)]
        let sealed = try sealing.seal(inner.bytes, context: Self.context(stateHash), random: random)
        let now = time.now
        let arguments: [SQLValue] = [
            .blob(stateHash), .blob(Self.hash(secret)), .text(record.kind.rawValue), SQLValue(record.scheme),
            SQLValue(record.challenge), SQLValue(record.flow), SQLValue(record.returnTo), .blob(sealed), SQLValue(now),
        ]
        try await database.write { sql in
            _ = try sql.execute(
                """
                INSERT INTO gateway_pending (state, secret, kind, scheme, challenge, flow, return_to, secrets, created_at)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
                """, arguments)
        }
        return secret
    }

    /// Takes the record of this very `state`, for whoever has its secret, and leaves every other alone (HO-2, HO-4).
    func take(_ kind: PendingRecord.Kind, state: String, secret: String) async throws -> PendingRecord? {
        let stateHash = Self.hash(state)
        let arguments: [SQLValue] = [.blob(stateHash), .blob(Self.hash(secret)), .text(kind.rawValue)]
        let row = try await database.write { sql in
            try sql.first(
                // guard: pending-binding, pending-once
                "DELETE FROM gateway_pending WHERE state = $1 AND secret = $2 AND kind = $3 RETURNING *", arguments)
        }
        guard let row else { return nil }
        guard time.now - (try row.moment("created_at")) <= Self.lifetime else { return nil }  // guard: pending-age
        let inner = try JSONParser.parse(sealing.open(row.blob("secrets"), context: Self.context(stateHash)))
        return PendingRecord(
            kind: kind, scheme: row["scheme"].text, challenge: row["challenge"].text, flow: row["flow"].text,
            returnTo: row["return_to"].text, nonce: inner["n"]?.string ?? "", verifier: inner["v"]?.string ?? "")
    }
}
