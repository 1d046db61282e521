// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreDatabase
import NacreDatabaseTesting
import NacreJOSE
import NacreSessions
import NacreTesting
import Testing

@Suite("JW-1: tokens") struct SessionTokensTests {
    private func state(_ check: SessionCheck) -> String {
        switch check {
        case .valid(let session, _): "valid \(session.subject)"
        case .absent: "absent"
        case .ended(let reason): "ended: \(reason)"
        }
    }

    private func pair(_ node: TwoProcesses.Node, device: String? = nil) async throws -> IssuedTokens {
        try #require(try await node.tokens.issue(.pair, from: .person(TwoProcesses.person()), device: device))
    }

    private func claims(_ token: String) throws -> JSONValue {
        let part = try #require(token.split(separator: ".").dropFirst().first)
        return try JSONParser.parse(try #require(Base64URL.decode(part)))
    }

    @Test("Both tokens are ES256 with exp, jti and sub; the person is the same in every session")
    func shape() async throws {
        let world = try await TwoProcesses()
        let first = try await pair(world.first)
        let second = try await pair(world.first)
        for token in [first.access, first.refresh, second.access].compactMap({ $0 }) {
            let header = try JSONParser.parse(try #require(Base64URL.decode(token.prefix { $0 != "." })))
            #expect(header["alg"] == "ES256")
            let claims = try claims(token)
            #expect(claims["sub"]?.string == first.session.userID)
            #expect(claims["jti"]?.string?.isEmpty == false)
            #expect(claims["iss"] == "https://gateway.test")
        }
        let now = world.time.now.seconds
        #expect(try claims(first.access)["exp"]?.integer == now + 300)
        #expect(try claims(first.token)["exp"]?.integer == now + 30 * 86400)
        #expect(try claims(first.access)["sid"]?.string == first.session.id)
        #expect(first.session.id != second.session.id)
    }

    @Test("A pair made by one process opens the session in another, and one row is all there is")
    func shared() async throws {
        let world = try await TwoProcesses()
        let pair = try await pair(world.first)
        #expect(state(try await world.second.tokens.check(bearer: pair.access)) == "valid alice")
        #expect(state(try await world.second.tokens.check(bearer: pair.token)) == "absent")
        let rows = try await world.first.database.read { sql in try sql.query("SELECT * FROM sessions") }
        #expect(rows.count == 1)
        for value in rows[0].values {
            for token in [pair.access, pair.refresh].compactMap({ $0 }) {
                #expect(value.text?.contains(token) != true)
                #expect(try value.text?.contains(claims(token)["jti"]?.string ?? "?") != true)
            }
        }
        try await world.first.store.end(pair.session.id)
        #expect(state(try await world.second.tokens.check(bearer: pair.access)) == "absent", "ended at once")
    }

    @Test("A refresh rotates; the second use of a token ends the whole family")
    func reuse() async throws {
        let world = try await TwoProcesses()
        let first = try await pair(world.first)
        let old = first.token
        let second = try #require(try await world.first.tokens.refresh(old))
        #expect(second.refresh != old)
        #expect(second.session.id == first.session.id)
        #expect(state(try await world.second.tokens.check(bearer: second.access)) == "valid alice")
        let third = try #require(try await world.second.tokens.refresh(second.token))
        let heard = EndingRecorder()
        let watch = world.first.store.events.onEnd(of: first.session.id, heard.action)
        #expect(try await world.first.tokens.refresh(old) == nil)
        #expect(heard.endings.map(\.reason) == ["refresh_reused"])
        #expect(try await world.second.tokens.refresh(third.token) == nil)
        for access in [first.access, second.access, third.access] {
            #expect(state(try await world.second.tokens.check(bearer: access)) == "absent")
        }
        watch.cancel()
    }

    @Test("Of a hundred racing refreshes in two processes one wins, and the family ends")
    func race() async throws {
        let world = try await TwoProcesses()
        let old = try await pair(world.first).token
        let winners = try await withThrowingTaskGroup(of: IssuedTokens?.self) { group in
            for number in 0..<100 {
                let tokens = number % 2 == 0 ? world.first.tokens : world.second.tokens
                group.addTask { try await tokens.refresh(old) }
            }
            return try await group.reduce(into: [IssuedTokens]()) { if let pair = $1 { $0.append(pair) } }
        }
        #expect(winners.count == 1)
        #expect(state(try await world.first.tokens.check(bearer: winners[0].access)) == "absent")
    }

    @Test("Within the window for lost answers the same answer comes again, and later the reuse still ends the family")
    func lostAnswer() async throws {
        let world = try await TwoProcesses { $0.retryWindow = .seconds(10) }
        let old = try await pair(world.first).token
        let lost = try #require(try await world.first.tokens.refresh(old))
        world.time.advance(by: .seconds(10))
        let again = try #require(try await world.second.tokens.refresh(old))
        let names = try [lost, again].map { try claims($0.token)["jti"] }
        #expect(names[0] == names[1], "one family, one next token")
        let next = try #require(try await world.first.tokens.refresh(again.token))
        #expect(try await world.first.tokens.refresh(old) == nil, "two rotations ago")
        #expect(try await world.first.tokens.refresh(next.token) == nil)
    }

    @Test("After the window for lost answers a reuse ends the family")
    func lateAnswer() async throws {
        let world = try await TwoProcesses { $0.retryWindow = .seconds(10) }
        let old = try await pair(world.first).token
        let second = try #require(try await world.first.tokens.refresh(old))
        world.time.advance(by: .seconds(11))
        #expect(try await world.second.tokens.refresh(old) == nil)
        #expect(state(try await world.first.tokens.check(bearer: second.access)) == "absent")
    }

    @Test("An access token ends after five minutes and the tolerance of clocks; its pair lives on")
    func expiry() async throws {
        let world = try await TwoProcesses()
        let pair = try await pair(world.first)
        world.time.advance(by: .seconds(599))
        #expect(state(try await world.first.tokens.check(bearer: pair.access)) == "valid alice")
        world.time.advance(by: .seconds(1))
        #expect(state(try await world.first.tokens.check(bearer: pair.access)) == "absent")
        #expect(try await world.first.tokens.refresh(pair.token) != nil)
        world.time.advance(by: .seconds(31 * 86400))
        #expect(try await world.first.tokens.refresh(pair.token) == nil, "expired, no reuse")
    }

    @Test(
        "Processes whose clocks differ by five minutes accept each other's tokens, beyond that not",
        arguments: [-300, 300, -301, 601])
    func skew(seconds: Int) async throws {
        let world = try await TwoProcesses(skew: .seconds(seconds))
        let pair = try await pair(world.first)
        let isAccepted = abs(seconds) <= 300
        #expect(
            state(try await world.second.tokens.check(bearer: pair.access)) == (isAccepted ? "valid alice" : "absent"))
        if isAccepted { #expect(try await world.second.tokens.refresh(pair.token) != nil) }
    }

    @Test("Opaque bearer tokens slide with use like a cookie and open nothing elsewhere")
    func opaque() async throws {
        let world = try await TwoProcesses()
        let issued = try #require(
            try await world.first.tokens.issue(.bearer, from: .person(TwoProcesses.person()), device: "CLI"))
        #expect(issued.access.utf8.count == 43)
        #expect(issued.refresh == nil)
        for _ in 0..<3 {
            world.time.advance(by: .seconds(29 * 86400))
            world.second.method.answer = .renewed(TwoProcesses.person())
            #expect(state(try await world.second.tokens.check(bearer: issued.access)) == "valid alice")
        }
        #expect(try await world.first.store.find(handle: issued.access) == nil, "no cookie")
        #expect(try await world.first.store.find(handle: issued.access, as: .pair) == nil)
    }

    @Test("A bearer token that is a JWT ends after its age, and with its session")
    func bearerJWT() async throws {
        let world = try await TwoProcesses { $0.bearerIsJWT = true }
        let issued = try #require(
            try await world.first.tokens.issue(.bearer, from: .person(TwoProcesses.person()), device: nil))
        #expect(issued.lifetime == 12 * 3600)
        #expect(state(try await world.second.tokens.check(bearer: issued.access)) == "valid alice")
        let name = try #require(try claims(issued.access)["jti"]?.string)
        #expect(state(try await world.second.tokens.check(bearer: name)) == "absent", "the name alone opens nothing")
        try await world.first.store.end(issued.session.id)
        #expect(state(try await world.second.tokens.check(bearer: issued.access)) == "absent")
    }

    @Test("Presentations that are not allowed open nothing")
    func allowed() async throws {
        let world = try await TwoProcesses()
        let pair = try await pair(world.first)
        let opaque = try #require(
            try await world.first.tokens.issue(.bearer, from: .person(TwoProcesses.person()), device: nil))
        let (_, cookie) = try await world.first.store.begin(TwoProcesses.person(), device: nil)
        #expect(state(try await world.first.tokens.check(bearer: cookie)) == "absent", "a cookie is no bearer token")
        for presentations in [[], [.bearer], [.pair]] as [Set<SessionPresentation>] {
            let narrow = try await TwoProcesses { $0.presentations = presentations }
            let node = narrow.first
            let tokens = SessionTokens(
                store: world.first.store, keeper: world.first.keeper, policy: node.tokens.policy,
                issuer: "https://gateway.test")
            #expect(
                state(try await tokens.check(bearer: pair.access))
                    == (presentations.contains(.pair) ? "valid alice" : "absent"))
            #expect(
                state(try await tokens.check(bearer: opaque.access))
                    == (presentations.contains(.bearer) ? "valid alice" : "absent"))
        }
    }

    @Test("Malformed, foreign and altered tokens are worth nothing and end nothing")
    func malformed() async throws {
        let world = try await TwoProcesses()
        let pair = try await pair(world.first)
        let refresh = pair.token
        let parts = refresh.split(separator: ".").map(String.init)
        let unsigned = Base64URL.encode(Array(#"{"alg":"none","typ":"nacre-session+jwt"}"#.utf8))
        let stranger = try PrivateKey.generate(.es256)
        let keyID = try JSONParser.parse(try #require(Base64URL.decode(parts[0])))["kid"]?.string
        let forged = try JWS.sign(claims(refresh), with: stranger, keyID: keyID, type: "nacre-session+jwt")
        let elsewhere = SessionTokens(
            store: world.first.store, keeper: world.first.keeper, policy: world.first.tokens.policy,
            issuer: "https://other.test")
        let foreign = try #require(
            try await elsewhere.issue(.pair, from: .person(TwoProcesses.person()), device: nil)?.refresh)
        let bad = [
            "", ".", "..", "a.b.c", "null", parts[0] + "." + parts[1] + ".", parts[0] + "." + parts[1],
            "\(unsigned).\(parts[1]).", "\(unsigned).\(parts[1]).\(parts[2])", refresh + "A", refresh + ".x",
            forged, foreign, pair.access, String(repeating: "a", count: 43), String(repeating: "a", count: 200_000),
            parts[0] + "." + String(repeating: "A", count: 8000) + "." + parts[2], "Bearer " + refresh,
        ]
        for token in bad {
            #expect(try await world.first.tokens.refresh(token) == nil, "\(token.prefix(40))")
            if token != pair.access {
                #expect(state(try await world.first.tokens.check(bearer: token)) == "absent", "\(token.prefix(40))")
            }
        }
        #expect(try await world.first.tokens.refresh(refresh) != nil, "nothing of it ended the session")
    }

    @Test("A thousand tokens that name unknown keys cost one look for keys in a second")
    func storm() async throws {
        let world = try await TwoProcesses()
        let pair = try await pair(world.first)
        let stranger = try PrivateKey.generate(.es256)
        _ = try await world.second.tokens.check(bearer: pair.access)
        let counted = CountingBackend(world.first.database)
        let store = SessionStore(
            database: counted.database(time: world.time), sealing: SealingKey(random: SeededRandom(7)),
            time: world.time, random: SeededRandom(9))
        let tokens = SessionTokens(
            store: store, keeper: SessionKeeper(store: store, methods: [], time: world.time, log: .none),
            policy: world.first.tokens.policy, issuer: "https://gateway.test")
        for number in 0..<1000 {
            let token = try JWS.sign(
                claims(pair.access), with: stranger, keyID: "k\(number)", type: "nacre-session+jwt")
            #expect(state(try await tokens.check(bearer: token)) == "absent")
        }
        #expect(counted.reads == 1)
        #expect(state(try await tokens.check(bearer: pair.access)) == "valid alice")
    }

    private func keyID(_ token: String) throws -> String? {
        try JSONParser.parse(try #require(Base64URL.decode(token.prefix { $0 != "." })))["kid"]?.string
    }

    private func keyRows(_ world: TwoProcesses) async throws -> [SQLRow] {
        try await world.first.database.read { sql in try sql.query("SELECT * FROM session_key ORDER BY row_id") }
    }

    @Test(
        "Keys follow each other: a new one signs once all know it, an old one goes with its last token; they lie sealed"
    )
    func keys() async throws {
        let world = try await TwoProcesses()
        for node in [world.first, world.second] { node.method.answer = .renewed(TwoProcesses.person()) }
        let old = try keyID(try await pair(world.first).token)
        world.time.advance(by: .seconds(90 * 86400))
        try await world.first.tokens.maintainKeys()
        // The last moment in which the old key signs, in a process that has not looked after the keys.
        world.time.advance(by: .seconds(899))
        let last = try await pair(world.second)
        #expect(try keyID(last.token) == old)
        world.time.advance(by: .seconds(1))
        for node in [world.first, world.second] { #expect(try keyID(try await pair(node).token) != old) }
        world.time.advance(by: .seconds(30 * 86400 - 10))
        try await world.first.tokens.maintainKeys()
        #expect(try await keyRows(world).count == 2)
        let next = try #require(try await world.first.tokens.refresh(last.token), "its last day")
        #expect(try keyID(next.token) != old)
        #expect(state(try await world.second.tokens.check(bearer: next.access)) == "valid alice")
        for row in try await keyRows(world) {
            #expect(!String(decoding: try row.blob("sealed_key"), as: UTF8.self).contains("PRIVATE"))
        }
        world.time.advance(by: .seconds(620))
        try await world.second.tokens.maintainKeys()
        let left = try await keyRows(world).map { try $0.text("kid") }
        #expect(try left == [#require(try keyID(next.token))])
    }

    @Test("A key that may be stolen is worth nothing at once, in the other process within ten seconds; no session ends")
    func stolen() async throws {
        let world = try await TwoProcesses { $0.bearerIsJWT = true }
        let pair = try await pair(world.first)
        let bearer = try #require(
            try await world.second.tokens.issue(.bearer, from: .person(TwoProcesses.person()), device: nil))
        #expect(state(try await world.second.tokens.check(bearer: pair.access)) == "valid alice")
        try await world.first.tokens.rotateKeys(stolen: true)
        let fresh = try await self.pair(world.first)
        #expect(try keyID(fresh.token) != keyID(pair.token))
        #expect(state(try await world.second.tokens.check(bearer: fresh.access)) == "valid alice", "known at once")
        world.time.advance(by: .seconds(10))
        for node in [world.first, world.second] {
            for token in [pair.access, bearer.access] {
                #expect(state(try await node.tokens.check(bearer: token)) == "absent")
            }
            #expect(try await node.tokens.refresh(pair.token) == nil)
            #expect(try await !node.tokens.revoke(pair.token), "a forged token ends nobody's session")
            #expect(state(try await node.tokens.check(bearer: fresh.access)) == "valid alice")
        }
        #expect(try await world.first.store.find(id: pair.session.id) != nil)
    }

    @Test("A key that an older program stored beside us is trusted for as long as refresh tokens live")
    func olderProgram() async throws {
        let world = try await TwoProcesses()
        let pair = try await pair(world.first)
        try await world.first.database.write { sql in
            let row = try #require(try sql.first("SELECT * FROM session_key"))
            try sql.execute("DELETE FROM session_key")
            try sql.execute(
                "INSERT INTO session_key (kid, sealed_key, created_at) VALUES ($1, $2, $3)",
                [row["kid"], row["sealed_key"], row["created_at"]])
        }
        try await world.first.tokens.rotateKeys()
        world.second.method.answer = .renewed(TwoProcesses.person())
        world.time.advance(by: .seconds(29 * 86400))
        let next = try #require(try await world.second.tokens.refresh(pair.token))
        #expect(try keyID(next.token) != keyID(pair.token))
    }

    @Test("Where no key can be stored there is no session that nobody can present")
    func withoutKey() async throws {
        let world = try await TwoProcesses()
        try await world.first.database.refuse("INSERT", on: "session_key")
        let waiting = try await world.first.store.beginWaiting(
            TwoProcesses.person(), device: nil, lifetime: .seconds(60)
        ).session
        for origin in [TokenOrigin.person(TwoProcesses.person()), .waiting(waiting.id)] {
            await #expect(throws: NacreError.self) {
                _ = try await world.first.tokens.issue(.pair, from: origin, device: nil)
            }
        }
        #expect(try await world.first.store.list(issuer: "https://idp.test", subject: "alice").isEmpty)
        try await world.first.database.allow(on: "session_key")
        #expect(try await world.first.tokens.issue(.pair, from: .waiting(waiting.id), device: nil) != nil)
    }

    @Test("blacklist ends the session, with a used-up token too; what is not ours ends nothing")
    func revoked() async throws {
        let world = try await TwoProcesses()
        let first = try await pair(world.first)
        let old = first.token
        let second = try #require(try await world.first.tokens.refresh(old))
        #expect(try await !world.first.tokens.revoke("nonsense"))
        #expect(state(try await world.first.tokens.check(bearer: second.access)) == "valid alice")
        #expect(try await world.second.tokens.revoke(old))
        #expect(state(try await world.first.tokens.check(bearer: second.access)) == "absent")
        #expect(try await world.second.tokens.revoke(old), "harmless when repeated")
    }

    @Test("HO-13: a refresh asks the provider when it is time, and a refusal there ends the pair")
    func revalidation() async throws {
        let world = try await TwoProcesses()
        let first = try await pair(world.first)
        world.time.advance(by: .seconds(12 * 3600))
        world.first.method.answer = .renewed(TwoProcesses.person(refreshToken: "refresh-1"))
        let second = try #require(try await world.first.tokens.refresh(first.token))
        world.time.advance(by: .seconds(12 * 3600))
        world.second.method.answer = .refused(reason: "invalid_grant")
        #expect(try await world.second.tokens.refresh(second.token) == nil)
        #expect(world.second.method.tokens == ["refresh-1"])
        #expect(try await world.first.store.find(id: first.session.id) == nil)
    }
}

extension IssuedTokens {
    /// The refresh token of a pair; a text that is none where there is none.
    var token: String { refresh ?? "none" }
}
