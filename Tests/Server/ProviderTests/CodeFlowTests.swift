// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreHTTP
import NacreJOSE
import NacreProvider
import NacreTesting
import Testing

@Suite("PV-1: codes and tokens")
struct CodeFlowTests {
    @Test("PV-1: the whole flow gives an ID token that a strict relying party accepts, with what was reached")
    func wholeFlow() async throws {
        let world = try await ProviderWorld()
        let back = try await world.browser().signIn()
        #expect(back.status == .seeOther)
        #expect(back.location?.hasPrefix(ProviderWorld.callback + "?") == true)
        #expect(back.member("state") == "state-1")
        #expect(back.member("iss") == "http://localhost:8902")
        let answer = try await world.redeem(try #require(back.member("code")))
        #expect(answer.status == .ok)
        #expect(answer.fields["Cache-Control"] == "no-store")
        #expect(answer.json["token_type"] == "Bearer")
        #expect(answer.json["expires_in"] == 300)
        let claims = try await world.verify(try #require(answer.json["id_token"]?.string))
        #expect(claims.subject == "dev-alice")
        #expect(claims.authenticationContext == "eidas1")
        #expect(claims.authenticationMethods == ["pwd"])
        #expect(claims.authenticationTime == world.time.now)
        #expect(claims.sessionID?.isEmpty == false)
        let accessToken = try #require(answer.json["access_token"]?.string)
        #expect(claims.accessTokenHash == IDTokenVerifier.accessTokenHash(accessToken, algorithm: "ES256"))
        let profile = try await world.userInfo(accessToken)
        #expect(profile.json["sub"] == "dev-alice")
        #expect(profile.json["name"] == "Alice Martin")
        #expect(profile.json["email"] == "alice@example.test")
        #expect(profile.json["email_verified"] == true)
    }

    @Test("PV-1: a client that wants RS256 gets it, and the key set holds both kinds")
    func rsa() async throws {
        let world = try await ProviderWorld { $0.clients[1].idTokenAlgorithm = .rs256 }
        let back = try await world.browser().signIn([
            "client_id": "agenda", "redirect_uri": "https://agenda.example.test/cb",
        ])
        let answer = try await world.token(
            [
                "grant_type": "authorization_code", "code": try #require(back.member("code")),
                "redirect_uri": "https://agenda.example.test/cb", "code_verifier": ProviderWorld.verifier,
            ], client: "agenda", secret: "agenda-secret-1")
        let token = try #require(answer.json["id_token"]?.string)
        #expect(try JWS(parsing: token).header.algorithm == "RS256")
        _ = try await world.verify(token, client: "agenda")
        let keys = try await world.send(HTTPRequest(authority: "localhost:8902", target: "/jwks"))
        let kinds = keys.json["keys"]?.array?.compactMap { $0["alg"]?.string } ?? []
        #expect(Set(kinds) == ["ES256", "RS256"])
        #expect(!keys.json.text.contains("\"d\":"))
    }

    @Test("PV-1: discovery names this provider's own addresses and nothing it cannot do")
    func discovery() async throws {
        let world = try await ProviderWorld { $0.issuer = "https://idp.example.test/oidc" }
        let answer = try await world.send(
            HTTPRequest(authority: "idp.example.test", target: "/oidc/.well-known/openid-configuration"))
        #expect(answer.json["issuer"] == "https://idp.example.test/oidc")
        for name in [
            "authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri", "end_session_endpoint",
        ] {
            let address = try #require(answer.json[name]?.string)
            #expect(address.hasPrefix("https://idp.example.test/oidc/"))
            let response = try await world.browser().get(String(address.dropFirst("https://idp.example.test".count)))
            #expect(response.status != .notFound)
        }
        #expect(answer.json["code_challenge_methods_supported"] == ["S256"])
        #expect(answer.json["acr_values_supported"] == ["eidas1"], "eidas2 cannot be reached without a second factor")
        #expect(
            Set(answer.json.object?.keys.map { $0 } ?? []) == [
                "issuer", "authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri",
                "end_session_endpoint", "response_types_supported", "response_modes_supported",
                "grant_types_supported", "subject_types_supported", "id_token_signing_alg_values_supported",
                "token_endpoint_auth_methods_supported", "code_challenge_methods_supported", "scopes_supported",
                "claims_supported", "acr_values_supported", "prompt_values_supported", "ui_locales_supported",
                "authorization_response_iss_parameter_supported", "backchannel_logout_supported",
                "backchannel_logout_session_supported", "claims_parameter_supported", "request_parameter_supported",
                "request_uri_parameter_supported",
            ])
    }

    @Test("PV-1: what is asked without openid profile or email is not told")
    func scopes() async throws {
        let world = try await ProviderWorld()
        let back = try await world.browser().signIn(["scope": "openid"])
        let answer = try await world.redeem(try #require(back.member("code")))
        #expect(answer.json["scope"] == "openid")
        let profile = try await world.userInfo(try #require(answer.json["access_token"]?.string))
        #expect(profile.json == ["sub": "dev-alice"])
    }

    @Test("PV-1: a code works once; its second use revokes what the first got")
    func replay() async throws {
        let world = try await ProviderWorld()
        let code = try #require(try await world.browser().signIn().member("code"))
        let first = try await world.redeem(code)
        let accessToken = try #require(first.json["access_token"]?.string)
        #expect(try await world.userInfo(accessToken).status == .ok)
        let second = try await world.redeem(code)
        #expect(second.status == .badRequest)
        #expect(second.json["error"] == "invalid_grant")
        #expect(try await world.userInfo(accessToken).status == .unauthorized)
        #expect(try await world.refresh(try #require(first.json["refresh_token"]?.string)).status == .badRequest)
        #expect(world.sink.events.contains("code.replayed"))
    }

    @Test("PV-1: of a hundred racing redeemers exactly one wins")
    func race() async throws {
        let world = try await ProviderWorld()
        let code = try #require(try await world.browser().signIn().member("code"))
        let wins = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<100 { group.addTask { try await world.redeem(code).status == .ok ? 1 : 0 } }
            return try await group.reduce(0, +)
        }
        #expect(wins == 1)
    }

    @Test(
        "PV-1: a code is refused under anything but its own client, address and verifier, and is burnt by the try",
        arguments: [
            ["redirect_uri": "http://localhost:8901/api/v1.0/callback"], ["redirect_uri": nil],
            ["code_verifier": String(repeating: "a", count: 43)], ["code_verifier": nil], ["code_verifier": "short"],
            ["code_verifier": ProviderWorld.challenge],
        ] as [[String: String?]])
    func binding(changes: [String: String?]) async throws {
        let world = try await ProviderWorld()
        let code = try #require(try await world.browser().signIn().member("code"))
        let answer = try await world.redeem(code, changes)
        #expect(answer.json["error"] == "invalid_grant")
        #expect(try await world.redeem(code).json["error"] == "invalid_grant")
    }

    @Test("PV-1: another client cannot use a code, and an unknown code is just wrong")
    func otherClient() async throws {
        let world = try await ProviderWorld()
        let code = try #require(try await world.browser().signIn().member("code"))
        let answer = try await world.token(
            [
                "grant_type": "authorization_code", "code": code, "redirect_uri": ProviderWorld.callback,
                "code_verifier": ProviderWorld.verifier,
            ], client: "agenda", secret: "agenda-secret-1")
        #expect(answer.json["error"] == "invalid_grant")
        #expect(try await world.redeem("unknown").json["error"] == "invalid_grant")
    }

    @Test("PV-1: a code ends after a minute")
    func codeExpiry() async throws {
        let world = try await ProviderWorld()
        let code = try #require(try await world.browser().signIn().member("code"))
        world.time.advance(by: .seconds(60))
        #expect(try await world.redeem(code).json["error"] == "invalid_grant")
    }

    @Test("PV-1: a confidential client may leave PKCE out, but then may not send a verifier")
    func withoutPKCE() async throws {
        let world = try await ProviderWorld()
        let changes: [String: String?] = ["code_challenge": nil, "code_challenge_method": nil]
        let one = try #require(try await world.browser().signIn(changes).member("code"))
        #expect(try await world.redeem(one, ["code_verifier": nil]).status == .ok)
        let two = try #require(try await world.browser().signIn(changes).member("code"))
        #expect(try await world.redeem(two).json["error"] == "invalid_grant")
    }

    @Test("PV-1: a refresh token rotates; the old one betrays a thief and ends the family")
    func rotation() async throws {
        let world = try await ProviderWorld()
        let first = try await world.redeem(try #require(try await world.browser().signIn().member("code")))
        let one = try #require(first.json["refresh_token"]?.string)
        let second = try await world.refresh(one)
        #expect(second.status == .ok)
        let claims = try await world.verify(try #require(second.json["id_token"]?.string))
        #expect(claims.authenticationTime == world.time.now)
        let two = try #require(second.json["refresh_token"]?.string)
        #expect(two != one)
        #expect(try await world.refresh(one).json["error"] == "invalid_grant")
        #expect(world.sink.events.contains("refresh.reused"))
        #expect(try await world.refresh(two).json["error"] == "invalid_grant")
        #expect(try await world.userInfo(try #require(second.json["access_token"]?.string)).status == .unauthorized)
    }

    @Test("PV-1: of two processes that rotate one refresh token at the same time one wins, and the family ends")
    func refreshRace() async throws {
        let world = try await ProviderWorld { $0.secret = [UInt8](repeating: 7, count: 32) }
        let other = try await ProviderWorld(database: world.database) { $0.secret = [UInt8](repeating: 7, count: 32) }
        let code = try #require(try await world.browser().signIn().member("code"))
        let token = try #require(try await world.redeem(code).json["refresh_token"]?.string)
        let answers = try await withThrowingTaskGroup(of: (Int, String?).self) { group in
            for node in [world, other, world, other] {
                group.addTask {
                    let answer = try await node.refresh(token)
                    return (answer.status.rawValue, answer.json["refresh_token"]?.string)
                }
            }
            return try await group.reduce(into: [(Int, String?)]()) { $0.append($1) }
        }
        #expect(answers.map(\.0).sorted() == [200, 400, 400, 400])
        let winner = try #require(answers.compactMap(\.1).first)
        #expect(try await other.refresh(winner).json["error"] == "invalid_grant")
    }

    @Test("PV-1: another client's try with a refresh token neither works nor harms")
    func foreignRefresh() async throws {
        let world = try await ProviderWorld()
        let first = try await world.redeem(try #require(try await world.browser().signIn().member("code")))
        let token = try #require(first.json["refresh_token"]?.string)
        let foreign = try await world.token(
            ["grant_type": "refresh_token", "refresh_token": token], client: "agenda", secret: "agenda-secret-1")
        #expect(foreign.json["error"] == "invalid_grant")
        #expect(try await world.refresh(token).status == .ok)
    }

    @Test("PV-1: thirteen hours later a refresh works, the access token does not, after thirty days nothing does")
    func lifetimes() async throws {
        let world = try await ProviderWorld()
        let first = try await world.redeem(try #require(try await world.browser().signIn().member("code")))
        world.time.advance(by: .seconds(13 * 3600))
        #expect(try await world.userInfo(try #require(first.json["access_token"]?.string)).status == .unauthorized)
        let second = try await world.refresh(try #require(first.json["refresh_token"]?.string))
        #expect(second.status == .ok)
        world.time.advance(by: .seconds(30 * 86_400))
        let third = try await world.refresh(try #require(second.json["refresh_token"]?.string))
        #expect(third.json["error"] == "invalid_grant")
    }

    @Test(
        "PV-1: a client proves itself by exactly one right method",
        arguments: [
            ("messages", "wrong", [:], false), ("nobody", "x", [:], false), (nil, "", [:], false),
            (nil, "", ["client_id": "messages"], false),
            (nil, "", ["client_id": "messages", "client_secret": "wrong"], false),
            (nil, "", ["client_id": "native", "client_secret": "x"], false), ("native", "", [:], false),
            ("messages", "messages-secret-1", ["client_secret": "messages-secret-1"], false),
            ("messages", "messages-secret-1", ["client_id": "agenda"], false),
            ("messages", "messages-secret-1", ["client_id": "messages"], true),
            ("messages", "messages-secret-1", [:], true),
            (nil, "", ["client_id": "messages", "client_secret": "messages-secret-1"], true),
            (nil, "", ["client_id": "native"], true),
        ] as [(String?, String, [String: String], Bool)])
    func clientAuthentication(client: String?, secret: String, form: [String: String], passes: Bool) async throws {
        let world = try await ProviderWorld()
        var fields: FormFields = ["grant_type": "refresh_token", "refresh_token": "nothing"]
        for (name, value) in form { fields.append(name, value) }
        let answer = try await world.token(fields, client: client, secret: secret)
        // A proved client gets as far as its worthless token.
        #expect(answer.json["error"] == (passes ? "invalid_grant" : "invalid_client"))
        #expect(answer.status == (passes ? .badRequest : .unauthorized))
        #expect((answer.fields["WWW-Authenticate"] != nil) == !passes)
    }

    @Test("PV-1: the token endpoint takes one form and nothing else")
    func badTokenRequests() async throws {
        let world = try await ProviderWorld()
        #expect(try await world.token(["a": "b"]).json["error"] == "invalid_request")
        #expect(try await world.token(["grant_type": "password"]).json["error"] == "unsupported_grant_type")
        #expect(
            try await world.token(["grant_type": "refresh_token", "grant_type": "refresh_token"]).json["error"]
                == "invalid_request")
        let json = try await world.send(
            HTTPRequest(
                method: .post, authority: "localhost:8902", target: "/token",
                fields: ["Content-Type": "application/json"], body: .text("{}")))
        #expect(json.json["error"] == "invalid_request")
        let huge = try await world.token(["grant_type": .init(repeating: "a", count: 40_000)])
        #expect(huge.json["error"] == "invalid_request")
        let get = try await world.send(HTTPRequest(authority: "localhost:8902", target: "/token"))
        #expect(get.status == .methodNotAllowed)
    }

    @Test("PV-1: userinfo takes the Authorization field only")
    func userInfo() async throws {
        let world = try await ProviderWorld()
        let answer = try await world.redeem(try #require(try await world.browser().signIn().member("code")))
        let token = try #require(answer.json["access_token"]?.string)
        let inQuery = try await world.send(
            HTTPRequest(authority: "localhost:8902", target: "/userinfo?access_token=" + token))
        #expect(inQuery.status == .unauthorized)
        #expect(inQuery.fields["WWW-Authenticate"]?.hasPrefix("Bearer") == true)
        let refreshToken = try #require(answer.json["refresh_token"]?.string)
        #expect(try await world.userInfo(refreshToken).status == .unauthorized)
        #expect(try await world.userInfo("x").fields["WWW-Authenticate"]?.contains("invalid_token") == true)
    }
}
