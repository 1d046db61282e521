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

/// The pending records of the browsers. Each belongs to one browser and one `state`; taking it removes it.
struct PendingStore: Sendable {
    /// A record older than this is ignored.
    static let lifetime: Duration = .seconds(600)
    /// So many round trips may be open in one browser; more push out the oldest.
    static let maximumPerBrowser = 20
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
            """)
    ]

    let database: Database
    let sealing: SealingKey
    let time: any TimeSource
    let random: any RandomSource

    private static func hash(_ text: String) -> [UInt8] { SHA256.hash(text) }
    private static func context(_ state: [UInt8]) -> [UInt8] { Array("pending/".utf8) + state }

    /// Remembers a round trip under `state` for the browser called `browser`.
    func add(_ record: PendingRecord, state: String, browser: String) async throws {
        let stateHash = Self.hash(state)
        let secret: JSONValue = ["n": .string(record.nonce), "v": .string(record.verifier)]
        let secrets = try sealing.seal(secret.bytes, context: Self.context(stateHash), random: random)
        let now = time.now
        let browserHash = SQLValue.blob(Self.hash(browser))
        let arguments: [SQLValue] = [
            .blob(stateHash), browserHash, .text(record.kind.rawValue), SQLValue(record.scheme),
            SQLValue(record.challenge), SQLValue(record.flow), SQLValue(record.returnTo), .blob(secrets), SQLValue(now),
        ]
        try await database.write { sql in
            try sql.execute("DELETE FROM gateway_pending WHERE created_at < $1", [SQLValue(now - Self.lifetime)])
            try sql.execute(
                """
                INSERT INTO gateway_pending (state, browser, kind, scheme, challenge, flow, return_to, secrets, created_at)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
                """, arguments)
            try sql.execute(
                """
                DELETE FROM gateway_pending WHERE browser = $1 AND row_id NOT IN
                    (SELECT row_id FROM gateway_pending WHERE browser = $1 ORDER BY row_id DESC LIMIT $2)
                """, [browserHash, SQLValue(Self.maximumPerBrowser)])
        }
    }

    /// Whether this browser has any open round trip: only then its name is kept.
    func knows(browser: String) async throws -> Bool {
        let oldest = time.now - Self.lifetime
        return try await database.read { sql in
            try sql.first(
                "SELECT 1 AS one FROM gateway_pending WHERE browser = $1 AND created_at >= $2 LIMIT 1",
                [.blob(Self.hash(browser)), SQLValue(oldest)]) != nil
        }
    }

    /// Takes the record of this very `state` if it belongs to this browser, and gives the browser's other records to
    /// `renamed`, so that a name somebody planted or saw is worth nothing from here on (HO-2, HO-4).
    func take(
        _ kind: PendingRecord.Kind, state: String, browser: String, renamed: String
    ) async throws -> (record: PendingRecord?, othersRemain: Bool) {
        let stateHash = Self.hash(state)
        let browserHash = SQLValue.blob(Self.hash(browser))
        let next = SQLValue.blob(Self.hash(renamed))
        let (row, others) = try await database.write { sql in
            let row = try sql.first(
                // guard: pending-binding
                "DELETE FROM gateway_pending WHERE state = $1 AND browser = $2 AND kind = $3 RETURNING *",
                [.blob(stateHash), browserHash, .text(kind.rawValue)])
            let others = try sql.execute(
                "UPDATE gateway_pending SET browser = $2 WHERE browser = $1", [browserHash, next])
            return (row, others)
        }
        guard let row else { return (nil, others > 0) }
        // guard: pending-age
        guard time.now - (try row.moment("created_at")) <= Self.lifetime else { return (nil, others > 0) }
        let secret = try JSONParser.parse(
            sealing.open(row.blob("secrets"), context: Self.context(stateHash)))
        let record = PendingRecord(
            kind: kind, scheme: row["scheme"].text, challenge: row["challenge"].text, flow: row["flow"].text,
            returnTo: row["return_to"].text, nonce: secret["n"]?.string ?? "", verifier: secret["v"]?.string ?? "")
        return (record, others > 0)
    }
}
