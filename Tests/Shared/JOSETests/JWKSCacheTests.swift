// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreHTTP
import NacreJOSE
import NacreTesting
import Testing

@Suite("HO-3: the issuer's keys")
struct JWKSCacheTests {
    let time = ManualTime()
    let provider: MisbehavingProvider
    let keys: JWKSCache

    init() throws {
        provider = try MisbehavingProvider(time: time)
        keys = JWKSCache(url: try WebURL(provider.issuer + "/jwks"), transport: provider, time: time)
    }

    private var fetches: Int { provider.requestCount("/jwks") }

    private func header() throws -> JWSHeader { try JWS(parsing: try provider.idToken(nonce: nil)).header }

    @Test("HO-3: keys are fetched once for their max-age")
    func cached() async throws {
        for _ in 0..<5 { _ = try await keys.key(for: try header()) }
        #expect(fetches == 1)
        time.advance(by: .seconds(299))
        _ = try await keys.key(for: try header())
        #expect(fetches == 1)
        time.advance(by: .seconds(1))
        _ = try await keys.key(for: try header())
        #expect(fetches == 2)
    }

    @Test("HO-3: after a rotation the unknown kid fetches once and the token passes")
    func rotation() async throws {
        _ = try await keys.key(for: try header())
        try provider.rotateKeys()
        _ = try await keys.key(for: try header())
        #expect(fetches == 2)
    }

    @Test("HO-3: a flood of unknown kids fetches once, and again after ten seconds at the earliest")
    func flood() async throws {
        _ = try await keys.key(for: try header())
        provider.faults = [.unknownKey]
        for _ in 0..<20 {
            let error = await #expect(throws: NacreError.self) { _ = try await keys.key(for: try header()) }
            #expect(error?.code == "jose.unknown_key")
        }
        #expect(fetches == 2)
        time.advance(by: .seconds(10))
        for _ in 0..<20 {
            await #expect(throws: NacreError.self) { _ = try await keys.key(for: try header()) }
        }
        #expect(fetches == 3)
    }

    @Test("HO-3: an unknown kid while the issuer is down is an outage, also for those who ask within ten seconds")
    func unknownWhileDown() async throws {
        _ = try await keys.key(for: try header())
        try provider.rotateKeys()
        let rotated = try header()
        provider.faults = [.down]
        for _ in 0..<3 {
            let error = await #expect(throws: NacreError.self) { _ = try await keys.key(for: rotated) }
            #expect(error?.code == "transport.unreachable")
        }
        #expect(fetches == 2)
        provider.faults = []
        time.advance(by: .seconds(10))
        _ = try await keys.key(for: rotated)
    }

    @Test("HO-3: callers at the same time share one fetch")
    func singleFlight() async throws {
        let header = try header()
        provider.faults = [.slow]
        let waiting = (0..<8).map { _ in Task { try await keys.key(for: header) } }
        try await until { time.sleeperCount >= 2 }
        for _ in 0..<100 { await Task.yield() }
        #expect(fetches == 1)
        provider.faults = []
        time.advance(by: .seconds(10))
        for task in waiting { await #expect(throws: NacreError.self) { _ = try await task.value } }
        _ = try await keys.key(for: header)
        #expect(fetches == 2)
    }

    @Test("HO-3: when the issuer is down, known keys serve for one more hour")
    func grace() async throws {
        let header = try header()
        _ = try await keys.key(for: header)
        provider.faults = [.down]
        time.advance(by: .seconds(300 + 3599))
        _ = try await keys.key(for: header)
        time.advance(by: .seconds(1))
        let error = await #expect(throws: NacreError.self) { _ = try await keys.key(for: header) }
        #expect(error?.code == "transport.unreachable")
    }

    @Test("HO-3: without a kid the only key of the algorithm is taken, and of several none")
    func withoutKeyID() async throws {
        let one = try PrivateKey.generate(.es256)
        let two = try PrivateKey.generate(.es256)
        let header = try JWS(parsing: try JWS.sign([:], with: one, keyID: nil)).header
        #expect(header.keyID == nil)
        let single = JSONWebKeySet([
            JSONWebKey(one.publicKey), JSONWebKey(try PrivateKey.generate(.edDSA).publicKey),
        ])
        #expect(try single.key(for: header)?.components == one.publicKey.components)
        let several = JSONWebKeySet([JSONWebKey(one.publicKey), JSONWebKey(two.publicKey)])
        let error = #expect(throws: NacreError.self) { _ = try several.key(for: header) }
        #expect(error?.code == "jose.ambiguous_key")
    }
}
