// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreDatabase
import NacreDatabaseTesting
import NacreHTTP
import NacreJOSE
import NacreKeys
import NacreTesting
import Testing

@testable import NacreGateway

/// One database and a clock, for as many processes as a test wants.
private struct KeyWorld {
    static let age: Duration = .seconds(90 * 86400)
    let time = ManualTime()
    let database: Database
    let sealing = SealingKey(random: SeededRandom(1))

    init() async throws { database = try await TestDatabase.make(time: time) }

    /// The keys as one process sees them.
    func process(_ sealing: SealingKey? = nil) async throws -> IdentityKeys {
        let keys = IdentityKeys(
            database: database, sealing: sealing ?? self.sealing, age: Self.age, time: time, random: SystemRandom(),
            log: .none)
        try await keys.prepare(first: .generate(.es256))
        return keys
    }

    func published(_ keys: IdentityKeys) async throws -> [String?] {
        try JSONWebKeySet(parsing: await keys.published()).keys.map(\.id)
    }
}

@Suite struct IdentityKeysTests {
    @Test func `processes of one database share the keys, sealed`() async throws {
        let world = try await KeyWorld()
        let (first, second) = (try await world.process(), try await world.process())
        let id = try await first.signer().id
        #expect(try await second.signer().id == id)
        #expect(try await world.published(second) == [id])
        let rows = try await world.database.read { sql in try sql.query("SELECT sealed_key FROM gateway_identity_key") }
        #expect(rows.count == 1)
        let pem = try await first.signer().key.pem
        #expect(try !String(decoding: rows[0].blob("sealed_key"), as: UTF8.self).contains(pem.dropFirst(30).prefix(40)))
        let error = await #expect(throws: NacreError.self) {
            _ = try await world.process(SealingKey(random: SeededRandom(2)))
        }
        #expect(error?.code == "gateway.identity_sealed")
    }

    @Test func `a new key is published before it signs, and the old one until its tokens are dead`() async throws {
        let world = try await KeyWorld()
        let (first, second) = (try await world.process(), try await world.process())
        let old = try await first.signer().id
        try await first.rotate()
        let new = try #require(try await world.published(first).last ?? nil)
        #expect(new != old)
        #expect(try await first.signer().id == old)
        // The other process reads the table again within a minute, long before the key signs.
        world.time.advance(by: .seconds(61))
        #expect(try await world.published(second) == [old, new])
        #expect(try await second.signer().id == old)
        world.time.advance(by: IdentityKeys.lead)
        #expect(try await first.signer().id == new)
        #expect(try await second.signer().id == new)
        try await first.maintain()
        #expect(try await world.published(first) == [old, new])
        world.time.advance(by: IdentityKeys.tail)
        try await first.maintain()
        #expect(try await world.published(first) == [new])
        #expect(IdentityKeys.tail > IdentityIssuer.lifetime + .seconds(300))
    }

    @Test func `a stolen key is published no more, and the new one signs at once`() async throws {
        let world = try await KeyWorld()
        let (first, second) = (try await world.process(), try await world.process())
        let old = try await first.signer().id
        try await first.rotate()
        try await first.rotate(stolen: true)
        let new = try await first.signer().id
        #expect(new != old)
        #expect(try await world.published(first) == [new])
        world.time.advance(by: .seconds(10))
        #expect(try await world.published(second) == [new])
        #expect(try await second.signer().id == new)
        // The key that the installation began with does not come back.
        #expect(try await world.process().signer().id == new)
    }

    @Test func `a key that is old enough is followed by one new key, however many processes look`() async throws {
        let world = try await KeyWorld()
        let (first, second) = (try await world.process(), try await world.process())
        world.time.advance(by: KeyWorld.age - .seconds(1))
        try await first.maintain()
        #expect(try await world.published(first).count == 1)
        world.time.advance(by: .seconds(1))
        try await first.maintain()
        try await second.maintain()
        #expect(try await world.published(first).count == 2)
    }

    @Test func `keys serve on while the database is away`() async throws {
        let world = try await KeyWorld()
        let keys = try await world.process()
        let id = try await keys.signer().id
        try await world.database.write { sql in try sql.executeScript("DROP TABLE gateway_identity_key") }
        world.time.advance(by: .seconds(120))
        #expect(try await keys.signer().id == id)
    }
}
