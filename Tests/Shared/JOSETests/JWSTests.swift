// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreHTTP
import NacreJOSE
import NacreTesting
import Testing

@Suite("JWS and JWK")
struct JWSTests {
    @Test("A token signed by one kind of key verifies with it alone", arguments: SignatureAlgorithm.allCases)
    func roundTrip(algorithm: SignatureAlgorithm) throws {
        let key = try PrivateKey.generate(algorithm)
        let token = try JWS.sign(["sub": "alice"], with: key, keyID: "k1")
        let jws = try JWS(parsing: token)
        #expect(jws.header.algorithm == algorithm.rawValue)
        #expect(jws.header.keyID == "k1")
        #expect(jws.header.type == "JWT")
        let payload = try jws.verifiedPayload(with: .publicKey(key.publicKey))
        #expect(try JWTClaims(parsing: payload).subject == "alice")
        for other in SignatureAlgorithm.allCases where other != algorithm {
            let stranger = try PrivateKey.generate(other).publicKey
            let error = #expect(throws: NacreError.self) { try jws.verifiedPayload(with: .publicKey(stranger)) }
            #expect(error?.code == "jose.algorithm")
        }
    }

    @Test("RFC 7515 appendix A.3 verifies; A.1 (HS256) only with its shared secret")
    func published() throws {
        let key = try JSONWebKey(
            JSONParser.parse(
                """
                {"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
                 "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}
                """))
        let claims = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
        let token =
            "eyJhbGciOiJFUzI1NiJ9.\(claims)."
            + "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
        let payload = try JWS(parsing: token).verifiedPayload(with: .publicKey(key.key))
        #expect(try JWTClaims(parsing: payload).issuer == "joe")

        let symmetric = try JWS(
            parsing: "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.\(claims).dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
        let secret = try #require(
            Base64URL.decode("AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"))
        #expect(try !symmetric.verifiedPayload(with: .sharedSecret(secret)).isEmpty)
        #expect(throws: NacreError.self) { try symmetric.verifiedPayload(with: .publicKey(key.key)) }
        #expect(throws: NacreError.self) { try symmetric.verifiedPayload(with: .sharedSecret(secret + [1])) }
    }

    @Test("A shared secret under 32 bytes verifies nothing")
    func shortSecret() throws {
        let text = Base64URL.encode(Array(#"{"alg":"HS256"}"#.utf8)) + "." + Base64URL.encode(Array("{}".utf8))
        let code = HMACSHA256.authenticate(text.utf8, key: Array("short".utf8))
        let jws = try JWS(parsing: text + "." + Base64URL.encode(code))
        let error = #expect(throws: NacreError.self) {
            try jws.verifiedPayload(with: .sharedSecret(Array("short".utf8)))
        }
        #expect(error?.code == "jose.signature")
    }

    @Test(
        "Malformed tokens are refused before any key is used",
        arguments: [
            "", ".", "..", "a.b.c", "e30.e30", "e30.e30.e30", "e30.e30.e30.e30", "e30=.e30.AA", " e30.e30.AA",
            "W10.e30.AA", "eyJhbGciOjF9.e30.AA", "eyJhbGciOiJFUzI1NiIsImtpZCI6MX0.e30.AA",
            "eyJhbGciOiJFUzI1NiIsImFsZyI6Im5vbmUifQ.e30.AA",
            String(repeating: "a", count: JWS.maximumLength + 1),
        ])
    func malformed(token: String) {
        let error = #expect(throws: NacreError.self) { try JWS(parsing: token) }
        #expect(error?.code == "jose.malformed")
    }

    @Test("A long token that is otherwise right is refused")
    func overlong() throws {
        let key = try PrivateKey.generate(.edDSA)
        let token = try JWS.sign(
            ["filler": .string(String(repeating: "a", count: JWS.maximumLength))], with: key, keyID: nil)
        #expect(throws: NacreError.self) { try JWS(parsing: token) }
    }

    @Test(
        "A header with crit or b64 is refused",
        arguments: [#"{"alg":"ES256","crit":["exp"]}"#, #"{"alg":"ES256","b64":false}"#])
    func critical(header: String) {
        let error = #expect(throws: NacreError.self) {
            try JWS(parsing: Base64URL.encode(Array(header.utf8)) + ".e30.AA")
        }
        #expect(error?.code == "jose.critical")
    }

    @Test("An Ed25519 key has the thumbprint of RFC 8037 appendix A.3")
    func thumbprint() throws {
        let key = try JSONWebKey([
            "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
        ])
        #expect(JSONWebKey.thumbprint(of: key.key) == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")
        #expect(key.id == nil)
        #expect(JSONWebKey(key.key).id == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")
    }

    @Test("A key set keeps what it can use, survives writing and reading, and never holds a private member")
    func keySet() throws {
        let keys = try SignatureAlgorithm.allCases.map { JSONWebKey(try PrivateKey.generate($0).publicKey) }
        let written = JSONWebKeySet(keys).json
        let read = try JSONWebKeySet(parsing: written.bytes)
        #expect(read.keys.map(\.id) == keys.map(\.id))
        #expect(read.keys.map(\.key.components) == keys.map(\.key.components))
        #expect(!written.text.contains("\"d\""))
        let mixed = try JSONWebKeySet(
            parsing: Array(
                """
                {"keys":[{"kty":"oct","k":"AAAA"},{"kty":"EC","crv":"P-384"},{"kty":"EC","crv":"P-256","x":"AA","y":"AA"},
                 {"kty":"RSA","n":"AQAB","e":"AQAB"},7,{"kty":"OKP","crv":"Ed25519","use":"enc",
                 "x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"},{"kty":"OKP","crv":"Ed25519","alg":"ES256",
                 "x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"},{"kty":"OKP","crv":"Ed25519","kid":"ok",
                 "x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}
                """.utf8))
        #expect(mixed.keys.map(\.id) == ["ok"])
        for bad in ["", "{}", "[]", #"{"keys":{}}"#, "<html>"] {
            let error = #expect(throws: NacreError.self) { try JSONWebKeySet(parsing: Array(bad.utf8)) }
            #expect(error?.code == "jwks.malformed")
        }
    }

    @Test(
        "Claims of a wrong type are refused",
        arguments: [
            #"{"exp":"1"}"#, #"{"exp":1e300}"#, #"{"iat":-1}"#, #"{"aud":1}"#, #"{"aud":["a",1]}"#, #"{"iss":["a"]}"#,
            #"{"nonce":1}"#, #"{"amr":{}}"#, "[]", "1", "", #"{"iss":"a","iss":"b"}"#,
        ])
    func wrongTypes(text: String) {
        let error = #expect(throws: NacreError.self) { try JWTClaims(parsing: Array(text.utf8)) }
        #expect(error?.code == "jwt.malformed")
    }

    @Test("Claims are read as the specification writes them")
    func claims() throws {
        let text = #"{"aud":"a","exp":1790000000.5,"auth_time":1,"amr":["pwd","otp"],"sid":"s","azp":"a"}"#
        let claims = try JWTClaims(parsing: Array(text.utf8))
        #expect(claims.audience == ["a"])
        #expect(claims.expiry == Instant(milliseconds: 1_790_000_000_500))
        #expect(claims.authenticationTime == Instant(seconds: 1))
        #expect(claims.authenticationMethods == ["pwd", "otp"])
        #expect(claims.sessionID == "s")
        #expect(claims.authorizedParty == "a")
        #expect(claims.issuedAt == nil)
    }

    @Test("No mutation of a signed token passes or crashes", .timeLimit(.minutes(1)))
    func fuzz() throws {
        let key = try PrivateKey.generate(.edDSA)
        let random = SeededRandom(42)
        let good = Array(
            try JWS.sign(["iss": "i", "aud": ["a", "b"], "exp": 1_790_000_000], with: key, keyID: "k").utf8)
        let clock = ContinuousClock()
        let end = clock.now + .seconds(2)
        var passed = 0
        var rounds = 0
        while rounds < 20_000, clock.now < end {
            rounds += 1
            var bytes = good
            for _ in 0...random.number(below: 3) {
                let place = random.number(below: bytes.count)
                switch random.number(below: 4) {
                case 0: bytes[place] = UInt8(truncatingIfNeeded: random.next())
                case 1: bytes.remove(at: place)
                case 2: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: place)
                default: bytes.removeSubrange(place...)
                }
                if bytes.isEmpty { break }
            }
            guard bytes != good, let text = String(validating: bytes, as: UTF8.self) else { continue }
            guard let jws = try? JWS(parsing: text) else { continue }
            if let payload = try? jws.verifiedPayload(with: .publicKey(key.publicKey)) {
                _ = try? JWTClaims(parsing: payload)
                passed += 1
            }
        }
        #expect(rounds > 500)
        #expect(passed == 0)
    }

    @Test("No mutation of a key set or of claims crashes", .timeLimit(.minutes(1)))
    func fuzzSets() throws {
        let random = SeededRandom(43)
        let set = JSONWebKeySet(
            try SignatureAlgorithm.allCases.map { JSONWebKey(try PrivateKey.generate($0).publicKey) })
        let good = set.json.bytes
        let clock = ContinuousClock()
        let end = clock.now + .seconds(2)
        var rounds = 0
        while rounds < 2_000, clock.now < end {
            rounds += 1
            var bytes = good
            for _ in 0...random.number(below: 4) {
                bytes[random.number(below: bytes.count)] = UInt8(truncatingIfNeeded: random.next())
            }
            _ = try? JSONWebKeySet(parsing: bytes)
            _ = try? JWTClaims(parsing: bytes)
        }
        #expect(rounds > 10)
    }
}
