// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreDatabase
import NacreDatabaseTesting
import NacreGateway
import NacreHTTP
import NacreSessions
import NacreTesting
import Testing

@Suite("What has expired") struct RetentionTests {
    private static let tables = ["gateway_handoff", "gateway_logout_seen", "gateway_pending"]

    private func counts(_ fixture: GatewayFixture) async throws -> [Int64] {
        try await fixture.database.read { sql in
            try Self.tables.map { table in
                try sql.first("SELECT COUNT(*) AS number FROM \(table)")?.integer("number") ?? 0
            }
        }
    }

    @Test func `requests remove nothing that is not theirs; the sweep removes it in batches, by an index`() async throws
    {
        let fixture = try await GatewayFixture()
        let old = SQLValue(fixture.time.now - .seconds(86400))
        try await fixture.database.write { sql in
            for number in 0..<1100 {
                let name = Array("old-\(number)".utf8)
                try sql.execute(
                    "INSERT INTO gateway_handoff (token, session, challenge, expires_at) VALUES ($1, 's', 'c', $2)",
                    [.blob(name), old])
                try sql.execute(
                    "INSERT INTO gateway_logout_seen (token_id, expires_at) VALUES ($1, $2)",
                    [.text("old-\(number)"), old])
                try sql.execute(
                    """
                    INSERT INTO gateway_pending (state, secret, kind, secrets, created_at)
                    VALUES ($1, $1, 'sign_in', $1, $2)
                    """, [.blob(name), old])
            }
        }
        _ = try await fixture.signedInBrowser()
        _ = try await fixture.signedInApp()
        let answer = try await fixture.browser().post(
            "/api/v1.0/backchannel-logout/", Array("logout_token=\(try fixture.provider.logoutToken())".utf8),
            fields: ["Content-Type": "application/x-www-form-urlencoded"])
        #expect(answer.status == .ok)
        // The hand-off was redeemed and the round trips taken; the logout token stays for as long as it could be replayed.
        #expect(try await counts(fixture) == [1100, 1101, 1100])
        let removed = try await fixture.gateway.sweep()
        #expect(Self.tables.map { removed[$0] } == [1100, 1100, 1100])
        #expect(try await counts(fixture) == [0, 1, 0])
        let indexes = try await fixture.database.indexes()
        for name in ["gateway_handoff_expires", "gateway_logout_seen_expires", "gateway_pending_created"] {
            #expect(indexes.contains(name))
        }
    }

    @Test func `the sweep follows the keys of tokens where there are tokens`() async throws {
        for hasTokens in [true, false] {
            let fixture = try await GatewayFixture { $0.tokens.presentations = hasTokens ? [.pair] : [] }
            func keys() async throws -> Int {
                try await fixture.database.read { sql in try sql.query("SELECT kid FROM session_key").count }
            }
            #expect(try await keys() == (hasTokens ? 1 : 0))
            fixture.time.advance(by: .seconds(90 * 86400))
            try await fixture.gateway.sweep()
            #expect(try await keys() == (hasTokens ? 2 : 0))
        }
    }
}
