// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
import NacreDatabase

/// A session as the administrator sees it: nothing in it opens anything.
package struct SessionSummary: Sendable {
    package let id: String
    package let userID: String
    package let issuer: String
    package let subject: String
    package let email: String?
    package let device: String?
    package let createdAt: Instant
    package let lastSeenAt: Instant
    /// When it ends unless it is used.
    package let idleExpiresAt: Instant
}

extension SessionStore {
    /// The unexpired sessions of everybody, or of the person `userID`; newest use first, at most `limit`.
    package func summaries(userID wanted: String? = nil, limit: Int) async throws -> [SessionSummary] {
        let now = time.now
        return try await database.read { sql in
            var result: [SessionSummary] = []
            try sql.forEachRow(
                """
                SELECT id, issuer, subject, profile, device, created_at, last_seen_at, idle_expires_at FROM sessions
                WHERE idle_expires_at > $1 AND expires_at > $1 ORDER BY last_seen_at DESC, row_id DESC
                """, [SQLValue(now)]
            ) { row throws(NacreError) in
                let (issuer, subject) = (try row.text("issuer"), try row.text("subject"))
                let userID = Session.userID(issuer: issuer, subject: subject)
                guard wanted == nil || wanted == userID else { return true }
                result.append(
                    SessionSummary(
                        id: try row.text("id"), userID: userID, issuer: issuer, subject: subject,
                        email: try JSONParser.parse(row.text("profile"))["email"]?.string, device: row["device"].text,
                        createdAt: try row.moment("created_at"), lastSeenAt: try row.moment("last_seen_at"),
                        idleExpiresAt: try row.moment("idle_expires_at")))
                return result.count < limit
            }
            return result
        }
    }
}
