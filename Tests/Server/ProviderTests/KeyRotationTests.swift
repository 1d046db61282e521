// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreHTTP
import NacreJOSE
import NacreTesting
import Testing

@testable import NacreProvider

@Suite("PV-1: signing keys") struct KeyRotationTests {
    private static let secret = [UInt8](repeating: 7, count: 32)

    private func node(_ first: ProviderWorld? = nil) async throws -> ProviderWorld {
        try await ProviderWorld(database: first?.database) { $0.secret = Self.secret }
    }

    private func keyID(_ tokens: JSONValue) throws -> String {
        let token = try #require(tokens["id_token"]?.string)
        let header = try JWS(parsing: token).header
        return try #require(header.keyID)
    }

    private func tokens(_ world: ProviderWorld) async throws -> JSONValue {
        try await world.redeem(try #require(try await world.browser().signIn().member("code"))).json
    }

    private func published(_ world: ProviderWorld) async throws -> [String] {
        let answer = try await world.send(HTTPRequest(authority: "localhost:8902", target: "/jwks"))
        return answer.json["keys"]?.array?.compactMap { $0["kid"]?.string } ?? []
    }

    private func hintStatus(_ world: ProviderWorld, _ tokens: JSONValue) async throws -> Int {
        let hint = try #require(tokens["id_token"]?.string)
        return try await world.browser().get("/logout?id_token_hint=" + hint).status.rawValue
    }

    @Test("PV-1: a new key is published first, signs ten minutes later, and the old one stays published for a day")
    func planned() async throws {
        let world = try await node()
        let first = try await tokens(world)
        let old = try keyID(first)
        try await world.provider.rotateKeys()
        let both = try await published(world)
        #expect(both.count == 2 && both[0] == old)
        #expect(try keyID(try await tokens(world)) == old)
        world.time.advance(by: .seconds(600))
        let second = try await tokens(world)
        #expect(try keyID(second) == both[1])
        _ = try await world.verify(try #require(second["id_token"]?.string))
        world.time.advance(by: .seconds(86_399))
        #expect(try await published(world) == both)
        world.time.advance(by: .seconds(1))
        #expect(try await published(world) == [both[1]])
        #expect(try await hintStatus(world, first) == 200, "an old ID token still tells who wants to sign out")
    }

    @Test(
        "PV-1: a key that may be stolen is withdrawn at once, the new one signs at once, and old tokens prove nothing")
    func compromised() async throws {
        let world = try await node()
        let first = try await tokens(world)
        try await world.provider.rotateKeys(.compromised)
        let second = try await tokens(world)
        #expect(try keyID(second) != keyID(first))
        #expect(try await published(world) == [keyID(second)])
        _ = try await world.verify(try #require(second["id_token"]?.string))
        await #expect(throws: NacreError.self) { _ = try await world.verify(try #require(first["id_token"]?.string)) }
        #expect(try await hintStatus(world, first) == 400)
    }

    @Test("PV-1: a theft that is reported while a planned key is being made still withdraws the stolen one")
    func compromisedMeanwhile() async throws {
        let world = try await node()
        let old = try keyID(try await tokens(world))
        let provider = world.provider
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 { group.addTask { try await provider.rotateKeys(.planned) } }
            group.addTask { try await provider.rotateKeys(.compromised) }
            try await group.waitForAll()
        }
        #expect(try await !published(world).contains(old))
        #expect(try keyID(try await tokens(world)) != old)
    }

    @Test(
        "PV-1: keys rotated by another process are seen within half a minute",
        arguments: [KeyRotation.planned, .compromised])
    func otherProcess(reason: KeyRotation) async throws {
        let world = try await node()
        let old = try keyID(try await tokens(world))
        // As `nacre admin rotate-keys` does.
        let command = try await node(world)
        command.time.advance(by: world.time.now - command.time.now)
        try await command.provider.rotateKeys(reason)
        world.time.advance(by: .seconds(30))
        let seen = try await published(world)
        #expect(seen.contains(old) == (reason == .planned))
        world.time.advance(by: .seconds(600))
        let new = try keyID(try await tokens(world))
        #expect(new != old && seen.contains(new))
    }

    @Test("PV-1: of two processes that both know no key of an algorithm, one makes the first, and both sign with it")
    func first() async throws {
        let world = try await node()
        let other = try await node(world)
        // What each read at its start is not old enough to be read again.
        let made = try await world.provider.core.keys.signer(.edDSA).id
        #expect(try await other.provider.core.keys.signer(.edDSA).id == made)
        #expect(try await published(other).count == 2)
    }

    @Test("PV-1: a key that is ninety days old is followed by itself, by one new key however many processes notice")
    func age() async throws {
        let world = try await node()
        let other = try await node(world)
        let old = try keyID(try await tokens(world))
        for node in [world, other] { node.time.advance(by: .seconds(90 * 86_400)) }
        for node in [world, other, world] { #expect(try keyID(try await tokens(node)) == old) }
        for node in [world, other] { node.time.advance(by: .seconds(600)) }
        let new = try keyID(try await tokens(world))
        #expect(new != old)
        #expect(try keyID(try await tokens(other)) == new)
        #expect(try await published(other).count == 2)
    }
}
