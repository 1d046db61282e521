// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreDatabase

/// One-time tokens that hand a waiting session over to its app (HO-4, HO-6). Only their hashes are stored.
struct HandOffTokens: Sendable {
    let database: Database
    let time: any TimeSource
    let random: any RandomSource
    let lifetime: Duration

    /// A token of 256 bits for `session`, bound to the app's challenge.
    func issue(session: String, challenge: String) async throws -> String {
        let token = random.token()
        let expiry = time.now + lifetime
        try await database.write { sql in
            _ = try sql.execute(
                "INSERT INTO gateway_handoff (token, session, challenge, expires_at) VALUES ($1, $2, $3, $4)",
                [.blob(SHA256.hash(token)), .text(session), .text(challenge), SQLValue(expiry)])
        }
        return token
    }

    /// Consumes the token, whatever comes of it, and only then judges it: the session it hands over, or nil.
    ///
    /// One statement removes the row, so of any number of racing callers at most one gets it; a wrong verifier has
    /// burnt it.
    func redeem(_ token: String, verifier: String) async throws -> String? {
        let hash = SQLValue.blob(SHA256.hash(token))
        let row = try await database.write { sql in
            try sql.first(
                // guard: handoff-once
                "DELETE FROM gateway_handoff WHERE token = $1 RETURNING session, challenge, expires_at", [hash])
        }
        guard let row else { return nil }
        guard time.now <= (try row.moment("expires_at")) else { return nil }  // guard: handoff-expiry
        // guard: handoff-verifier
        guard PKCE.matches(verifier: verifier, challenge: try row.text("challenge")) else { return nil }
        return try row.text("session")
    }
}
