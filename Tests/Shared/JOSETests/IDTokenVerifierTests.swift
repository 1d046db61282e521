// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreHTTP
import NacreJOSE
import NacreTesting
import Testing

@Suite("HO-3: ID tokens")
struct IDTokenVerifierTests {
    let time = ManualTime()
    let provider: MisbehavingProvider
    let verifier: IDTokenVerifier

    init() throws {
        provider = try MisbehavingProvider(time: time)
        verifier = IDTokenVerifier(
            keys: JWKSCache(url: try WebURL(provider.issuer + "/jwks"), transport: provider, time: time), time: time)
    }

    private var expectation: IDTokenExpectation {
        var expectation = IDTokenExpectation(
            issuer: provider.issuer, clientID: provider.clientID, nonce: .required("nonce-1"))
        expectation.accessToken = "access-1"
        return expectation
    }

    @Test("HO-3: a right token passes, whatever the algorithm", arguments: SignatureAlgorithm.allCases)
    func right(algorithm: SignatureAlgorithm) async throws {
        let provider = try MisbehavingProvider(algorithm: algorithm, time: time)
        let keys = JWKSCache(url: try WebURL(provider.issuer + "/jwks"), transport: provider, time: time)
        let token = try provider.idToken(nonce: "nonce-1", accessToken: "access-1", context: "eidas1")
        var expectation = expectation
        expectation.essentialContexts = ["eidas1", "eidas2"]
        expectation.maximumAge = .seconds(10)
        let claims = try await IDTokenVerifier(keys: keys, time: time).verify(token, expecting: expectation)
        #expect(claims.subject == "sub-alice")
        #expect(claims.authenticationContext == "eidas1")
    }

    @Test(
        "HO-3: every lie of a provider is refused under its own code",
        arguments: [
            (ProviderFault.wrongIssuer, "id_token.issuer"), (.wrongAudience, "id_token.audience"),
            (.wrongAuthorizedParty, "id_token.authorized_party"), (.wrongNonce, "id_token.nonce"),
            (.missingNonce, "id_token.nonce"), (.expired, "id_token.expired"),
            (.fromTheFuture, "id_token.not_yet_valid"), (.algorithmNone, "jose.algorithm"),
            (.symmetricWithPublicKey, "jose.algorithm"), (.unknownKey, "jose.unknown_key"),
            (.wrongSignature, "jose.signature"), (.wrongAccessTokenHash, "id_token.at_hash"),
            (.missingContext, "id_token.acr"), (.down, "transport.unreachable"), (.html, "jwks.malformed"),
            (.serverError, "jwks.status"),
        ])
    func lies(fault: ProviderFault, code: String) async throws {
        provider.faults = [fault]
        let token = try provider.idToken(nonce: "nonce-1", accessToken: "access-1", context: "eidas1")
        var expectation = expectation
        expectation.essentialContexts = ["eidas1"]
        let error = await #expect(throws: NacreError.self) {
            _ = try await verifier.verify(token, expecting: expectation)
        }
        #expect(error?.code.rawValue == code)
    }

    @Test("HO-3: unsigned and symmetric tokens cause no traffic to the identity provider")
    func noTraffic() async throws {
        for fault in [ProviderFault.algorithmNone, .symmetricWithPublicKey] {
            provider.faults = [fault]
            let token = try provider.idToken(nonce: "nonce-1")
            await #expect(throws: NacreError.self) { _ = try await verifier.verify(token, expecting: expectation) }
        }
        #expect(provider.requests.isEmpty)
    }

    @Test("HO-3: a slow identity provider is given up after ten seconds")
    func slow() async throws {
        provider.faults = [.slow]
        let token = try provider.idToken(nonce: "nonce-1")
        let waiting = Task { [verifier, expectation] in try await verifier.verify(token, expecting: expectation) }
        try await until { time.sleeperCount >= 2 }
        time.advance(by: .seconds(10))
        let error = await #expect(throws: NacreError.self) { _ = try await waiting.value }
        #expect(error?.code == "jwks.timeout")
    }

    @Test(
        "HO-3: clocks may differ by sixty seconds and no more",
        arguments: [
            (300 + 59, true), (300 + 60, false), (-60, true), (-61, false),
        ])
    func skew(seconds: Int, passes: Bool) async throws {
        let token = try provider.idToken(nonce: "nonce-1")
        _ = try await verifier.verify(token, expecting: expectation)
        time.advance(by: .seconds(seconds))
        let claims = try? await verifier.verify(token, expecting: expectation)
        #expect((claims != nil) == passes)
    }

    @Test(
        "HO-3: claims that are absent, empty or too old are refused",
        arguments: Self.badClaims)
    func claims(name: String, value: JSONValue, code: String) async throws {
        var expectation = expectation
        expectation.maximumAge = .seconds(300)
        expectation.essentialContexts = ["eidas1"]
        let token = try provider.idToken(nonce: "nonce-1", context: "eidas1") { $0[name] = value }
        let error = await #expect(throws: NacreError.self) {
            _ = try await verifier.verify(token, expecting: expectation)
        }
        #expect(error?.code.rawValue == code)
    }

    static let badClaims: [(String, JSONValue, String)] = [
        ("exp", .null, "jwt.malformed"), ("sub", "", "id_token.subject"), ("sub", 1, "jwt.malformed"),
        ("sub", .string(String(repeating: "s", count: 256)), "id_token.subject"),
        ("nbf", 1_790_000_061, "id_token.not_yet_valid"), ("auth_time", 1_789_999_000, "id_token.auth_time"),
        ("aud", .array([]), "id_token.audience"), ("aud", ["messages", "b"], "id_token.authorized_party"),
        ("azp", "b", "id_token.authorized_party"), ("acr", "eidas0", "id_token.acr"),
    ]

    @Test("HO-3: names are compared by code points: what only Unicode takes for the same is another name")
    func normalization() async throws {
        let kelvin = "\u{212A}"
        let token = try provider.idToken(nonce: "nonce-1") {
            $0["iss"] = .string("https://\(kelvin).test")
            $0["aud"] = .string(kelvin)
            $0["sub"] = .string(kelvin)
        }
        var expectation = IDTokenExpectation(
            issuer: "https://\(kelvin).test", clientID: kelvin, nonce: .required("nonce-1"))
        expectation.subject = kelvin
        _ = try await verifier.verify(token, expecting: expectation)
        let slips: [(WritableKeyPath<IDTokenExpectation, String>, String, String)] = [
            (\.issuer, "https://K.test", "id_token.issuer"), (\.clientID, "K", "id_token.audience"),
        ]
        for (part, value, code) in slips {
            var other = expectation
            other[keyPath: part] = value
            let error = await #expect(throws: NacreError.self) {
                _ = try await verifier.verify(token, expecting: other)
            }
            #expect(error?.code.rawValue == code)
        }
        expectation.subject = "K"
        let error = await #expect(throws: NacreError.self) {
            _ = try await verifier.verify(token, expecting: expectation)
        }
        #expect(error?.code == "id_token.subject")
    }

    @Test(
        "HO-3: missing times and a missing auth_time under max_age are refused", arguments: ["exp", "iat", "auth_time"])
    func missing(name: String) async throws {
        var expectation = expectation
        expectation.maximumAge = .seconds(300)
        let token = try provider.idToken(nonce: "nonce-1") { $0[name] = nil }
        await #expect(throws: NacreError.self) { _ = try await verifier.verify(token, expecting: expectation) }
    }

    @Test("HO-3: several audiences pass when azp names us")
    func severalAudiences() async throws {
        let token = try provider.idToken(nonce: "nonce-1") {
            $0["aud"] = ["other", "messages"]
            $0["azp"] = "messages"
        }
        _ = try await verifier.verify(token, expecting: expectation)
    }

    @Test("HO-13: at a refresh the nonce may be absent but not different, and the person stays the same")
    func refresh() async throws {
        var expectation = expectation
        expectation.nonce = .ifPresent("nonce-1")
        expectation.subject = "sub-alice"
        _ = try await verifier.verify(try provider.idToken(nonce: nil), expecting: expectation)
        _ = try await verifier.verify(try provider.idToken(nonce: "nonce-1"), expecting: expectation)
        let other = try provider.idToken(nonce: "nonce-2")
        await #expect(throws: NacreError.self) { _ = try await verifier.verify(other, expecting: expectation) }
        provider.person = ProviderPerson(subject: "sub-bruno")
        let stranger = try provider.idToken(nonce: nil)
        let error = await #expect(throws: NacreError.self) {
            _ = try await verifier.verify(stranger, expecting: expectation)
        }
        #expect(error?.code == "id_token.subject")
    }

    @Test("HO-3: HS256 passes only where a shared secret is configured")
    func configuredSymmetric() async throws {
        let secret = Array("a shared secret of at least 32 bytes".utf8)
        let claims: JSONValue = [
            "iss": .string(provider.issuer), "aud": "messages", "sub": "s", "nonce": "nonce-1",
            "iat": .integer(time.now.seconds), "exp": .integer(time.now.seconds + 60),
        ]
        let text = Base64URL.encode(Array(#"{"alg":"HS256"}"#.utf8)) + "." + Base64URL.encode(claims.bytes)
        let token = text + "." + Base64URL.encode(HMACSHA256.authenticate(text.utf8, key: secret))
        let keys = JWKSCache(url: try WebURL(provider.issuer + "/jwks"), transport: provider, time: time)
        _ = try await IDTokenVerifier(keys: keys, time: time, sharedSecret: secret)
            .verify(token, expecting: expectation)
        await #expect(throws: NacreError.self) { _ = try await verifier.verify(token, expecting: expectation) }
    }
}
