// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreGateway
import NacreHTTP
import NacreTesting
import Testing

@Suite("Conformance, basic plan (HO-3)") struct BasicConformanceTests {
    @Test("oidcc-client-test")
    func plain() async throws {
        let world = try await ConformanceWorld()
        try await world.expectSignIn()
        let request = try world.authorizationRequest()
        #expect(request["response_type"] == "code")
        #expect(request["scope"]?.split(separator: " ").contains("openid") == true)
        #expect(request["redirect_uri"] == "http://gateway.test/api/v1.0/callback/")
        #expect((request["state"] ?? "").utf8.count >= 43)
        #expect((request["nonce"] ?? "").utf8.count >= 43)
        #expect(request["code_challenge_method"] == "S256")
        #expect(try await world.tokenRequest().form["redirect_uri"] == request["redirect_uri"])
    }

    @Test("oidcc-client-test-invalid-iss")
    func invalidIssuer() async throws {
        try await ConformanceWorld([.wrongIssuer]).expectRefusal()
    }

    @Test("oidcc-client-test-missing-sub")
    func missingSubject() async throws {
        try await ConformanceWorld([.missingSubject]).expectRefusal()
    }

    @Test("oidcc-client-test-invalid-aud")
    func invalidAudience() async throws {
        try await ConformanceWorld([.wrongAudience]).expectRefusal()
    }

    @Test("oidcc-client-test-missing-iat")
    func missingIssuedAt() async throws {
        try await ConformanceWorld([.missingIssuedAt]).expectRefusal()
    }

    @Test("oidcc-client-test-kid-absent-single-jwks")
    func keyIDAbsentSingle() async throws {
        try await ConformanceWorld([.missingKeyID]).expectSignIn()
    }

    @Test("oidcc-client-test-kid-absent-multiple-jwks")
    func keyIDAbsentMultiple() async throws {
        let world = try await ConformanceWorld([.missingKeyID])
        try world.provider.publishAnotherKey()
        try await world.expectRefusal()
    }

    @Test("oidcc-client-test-idtoken-sig-rs256")
    func rs256() async throws {
        try await ConformanceWorld(algorithm: .rs256).expectSignIn()
    }

    @Test("oidcc-client-test-idtoken-sig-none")
    func none() async throws {
        try await ConformanceWorld([.algorithmNone]).expectRefusal()
    }

    @Test("oidcc-client-test-invalid-sig-rs256")
    func invalidRS256() async throws {
        try await ConformanceWorld(algorithm: .rs256, [.wrongSignature]).expectRefusal()
    }

    @Test("oidcc-client-test-userinfo-invalid-sub")
    func userInfoSubject() async throws {
        try await ConformanceWorld([.userInfoOfAnother]).expectRefusal(asksUserInfo: true)
    }

    @Test("oidcc-client-test-nonce-invalid")
    func nonce() async throws {
        try await ConformanceWorld([.wrongNonce]).expectRefusal()
    }

    @Test("oidcc-client-test-scope-userinfo-claims")
    func scopes() async throws {
        let world = try await ConformanceWorld([.bareIDToken])
        try await world.expectSignIn("userinfo alone names the person")
        let scopes = try world.authorizationRequest()["scope"]?.split(separator: " ").map(String.init) ?? []
        #expect(Set(scopes) == ["openid", "email", "profile"])
        #expect(world.provider.requestCount("/userinfo") == 1)
    }

    @Test("oidcc-client-test-client-secret-basic")
    func basic() async throws {
        let world = try await ConformanceWorld()
        world.provider.authenticationMethods = ["client_secret_basic"]
        try await world.expectSignIn()
        let (form, authorization) = try await world.tokenRequest()
        #expect(form["client_secret"] == nil)
        #expect(authorization == "Basic " + Base64.encode(Array("messages:messages-secret-1".utf8)))
    }
}

@Suite("Conformance, comprehensive plan, the cases of the code flow (HO-3)") struct MoreConformanceTests {
    @Test("oidcc-client-test-missing-aud")
    func missingAudience() async throws {
        try await ConformanceWorld([.missingAudience]).expectRefusal()
    }

    @Test("oidcc-client-test-invalid-sig-es256")
    func invalidES256() async throws {
        try await ConformanceWorld([.wrongSignature]).expectRefusal()
    }

    @Test("oidcc-client-test-invalid-sig-hs256")
    func invalidHS256() async throws {
        try await ConformanceWorld([.symmetricWithPublicKey]).expectRefusal()
    }

    @Test("oidcc-client-test-invalid-athash")
    func invalidAccessTokenHash() async throws {
        try await ConformanceWorld([.wrongAccessTokenHash]).expectRefusal()
        try await ConformanceWorld([.missingAccessTokenHash]).expectSignIn("optional in the code flow")
    }

    @Test("oidcc-client-test-userinfo-bearer-header")
    func bearerHeader() async throws {
        let world = try await ConformanceWorld()
        try await world.expectSignIn()
        let request = try #require(world.provider.requests.last { $0.path == "/userinfo" })
        #expect(request.fields["Authorization"]?.hasPrefix("Bearer ") == true)
        #expect(request.query == nil)
    }

    @Test("oidcc-client-test-userinfo-signed")
    func signedUserInfo() async throws {
        try await ConformanceWorld([.userInfoSigned]).expectSignIn()
        try await ConformanceWorld([.userInfoSigned, .userInfoOfAnother]).expectRefusal(asksUserInfo: true)
    }
}
