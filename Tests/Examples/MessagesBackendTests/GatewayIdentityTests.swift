// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import MessagesBackend
import NacreCore
import NacreCrypto
import NacreHTTP
import NacreJOSE
import NacreRouting
import Testing

@Suite("The gateway's word")
struct GatewayIdentityTests {
    private static let now: Int64 = 1_767_600_720
    private let key: PrivateKey
    private let verifier: GatewayIdentityVerifier

    init() throws {
        key = try PrivateKey.generate(.es256)
        verifier = GatewayIdentityVerifier(
            keySet: JSONWebKeySet([JSONWebKey(key.publicKey, id: "k1")]), issuer: "https://mail.example.org",
            audience: "messages", time: StoppedClock())
    }

    private func claims(_ changes: [String: JSONValue?] = [:]) -> JSONValue {
        var members: [String: JSONValue] = [
            "iss": "https://mail.example.org", "aud": "messages", "sub": "ada", "idp": "https://id.example.org",
            "email": "ada@mail.example.org",
            "name": "Ada", "iat": .integer(Self.now), "exp": .integer(Self.now + 60),
        ]
        for (name, value) in changes { members[name] = value }
        return .object(members)
    }

    @Test("A token of the gateway names the person")
    func valid() async throws {
        let identity = try await verifier.identity(of: JWS.sign(claims(), with: key, keyID: "k1"))
        #expect(
            identity
                == Identity(
                    issuer: "https://id.example.org", subject: "ada", email: "ada@mail.example.org", name: "Ada"))
    }

    @Test("The same subject at two providers behind one gateway is two people")
    func providers() async throws {
        let one = try await verifier.identity(of: JWS.sign(claims(), with: key, keyID: "k1"))
        let two = try await verifier.identity(
            of: JWS.sign(claims(["idp": "https://other.example.org"]), with: key, keyID: "k1"))
        #expect(one != two)
    }

    @Test(
        "A token that says the wrong thing is refused",
        arguments: [
            ["iss": "https://evil.test"], ["iss": nil], ["aud": "calendar"], ["aud": nil], ["aud": []],
            ["exp": .integer(now - 31)], ["exp": nil], ["exp": "tomorrow"], ["iat": .integer(now + 31)],
            ["nbf": .integer(now + 31)], ["sub": ""], ["sub": nil], ["sub": 7],
            ["idp": ""], ["idp": 7],
        ] as [[String: JSONValue?]])
    func wrongClaims(changes: [String: JSONValue?]) async throws {
        let token = try JWS.sign(claims(changes), with: key, keyID: "k1")
        let failure = await #expect(throws: NacreError.self) { try await verifier.identity(of: token) }
        #expect(failure?.code.rawValue.hasPrefix("identity.") == true)
    }

    @Test("Clocks may differ by half a minute")
    func skew() async throws {
        let changes: [String: JSONValue?] = ["exp": .integer(Self.now - 29), "iat": .integer(Self.now + 29)]
        let token = try JWS.sign(claims(changes), with: key, keyID: "k1")
        #expect(try await verifier.identity(of: token).subject == "ada")
    }

    @Test(
        "A token of another key or form is refused",
        arguments: ["other key", "unknown kid", "alg none", "RS256", "EdDSA", "changed", "no token", "empty"])
    func wrongKeys(_ kind: String) async throws {
        let good = try JWS.sign(claims(), with: key, keyID: "k1")
        let parts = good.split(separator: ".").map(String.init)
        let token =
            switch kind {
            case "other key": try JWS.sign(claims(), with: PrivateKey.generate(.es256), keyID: "k1")
            case "unknown kid": try JWS.sign(claims(), with: key, keyID: "k2")
            case "alg none": Base64URL.encode(Array(#"{"alg":"none"}"#.utf8)) + "." + parts[1] + "."
            case "RS256": Base64URL.encode(Array(#"{"alg":"RS256","kid":"k1"}"#.utf8)) + "." + parts[1] + "." + parts[2]
            case "EdDSA": try JWS.sign(claims(), with: PrivateKey.generate(.edDSA), keyID: "k1")
            case "changed":
                parts[0] + "." + Base64URL.encode(claims(["sub": "mallory"]).bytes) + "." + parts[2]
            case "no token": "ada"
            default: ""
            }
        let failure = await #expect(throws: NacreError.self) { try await verifier.identity(of: token) }
        #expect(failure?.code == "identity.token")
    }

    @Test("A key set with another algorithm's key does not widen what is accepted")
    func otherAlgorithm() async throws {
        let other = try PrivateKey.generate(.edDSA)
        let verifier = GatewayIdentityVerifier(
            keySet: JSONWebKeySet([JSONWebKey(other.publicKey, id: "k1")]), issuer: "https://mail.example.org",
            audience: "messages", time: StoppedClock())
        let token = try JWS.sign(claims(), with: other, keyID: "k1")
        let failure = await #expect(throws: NacreError.self) { try await verifier.identity(of: token) }
        #expect(failure?.code == "identity.token")
    }

    @Test("Keys are fetched from the gateway; when it is down, that is not the token's fault")
    func fetched() async throws {
        let set = JSONWebKeySet([JSONWebKey(key.publicKey, id: "k1")])
        let token = try JWS.sign(claims(), with: key, keyID: "k1")
        for status in [HTTPStatus.ok, .badGateway] {
            let gateway = InProcessClient(ClosureResponder { _, _ in .json(set.json, status: status) })
            let cache = JWKSCache(
                url: try WebURL("http://localhost:8901/keys"), transport: gateway, time: PatientClock())
            let verifier = GatewayIdentityVerifier(
                keys: cache, issuer: "https://mail.example.org", audience: "messages", time: StoppedClock())
            if status == .ok {
                #expect(try await verifier.identity(of: token).subject == "ada")
            } else {
                let failure = await #expect(throws: NacreError.self) { try await verifier.identity(of: token) }
                #expect(failure?.code.rawValue.hasPrefix("identity.") == false)
            }
        }
    }
}

/// The stopped clock, whose sleepers sleep until they are cancelled.
private struct PatientClock: TimeSource {
    let now = StoppedClock().now
    func sleep(for duration: Duration) async throws { try await Task.sleep(for: .seconds(3600)) }
}
