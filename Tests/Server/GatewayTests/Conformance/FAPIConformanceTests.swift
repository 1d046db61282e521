// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreGateway
import NacreHTTP
import NacreTesting
import Testing

/// The cases of the FAPI 2 client plan about the authorization response and the ID token. What else that plan asks for
/// (pushed requests, sender-constrained tokens) the gateway does not claim.
@Suite("Conformance, FAPI 2 client plan (HO-3)") struct FAPIConformanceTests {
    @Test("fapi2-security-profile-final-client-test-invalid-authorization-response-iss")
    func invalidResponseIssuer() async throws {
        let world = try await ConformanceWorld([.wrongResponseIssuer])
        try await world.expectRefusal()
        #expect(world.provider.requestCount("/token") == 0, "the code goes nowhere")
    }

    @Test("fapi2-security-profile-final-client-test-remove-authorization-response-iss")
    func missingResponseIssuer() async throws {
        let world = try await ConformanceWorld([.missingResponseIssuer])
        try await world.expectRefusal()
        #expect(world.provider.requestCount("/token") == 0)
    }

    @Test("fapi2-security-profile-final-client-test-ensure-authorization-response-with-invalid-state-fails")
    func invalidState() async throws {
        let world = try await ConformanceWorld([.wrongState])
        try await world.expectRefusal(status: .badRequest)
        #expect(world.provider.requestCount("/token") == 0)
    }

    @Test("fapi2-security-profile-final-client-test-ensure-authorization-response-with-invalid-missing-state-fails")
    func missingState() async throws {
        let world = try await ConformanceWorld([.missingState])
        try await world.expectRefusal(status: .badRequest)
        #expect(world.provider.requestCount("/token") == 0)
    }

    @Test("fapi2-security-profile-final-client-test-discovery-issuer-mismatch")
    func discoveryMismatch() async throws {
        try await ConformanceWorld([.discoveryOfAnother]).expectRefusal()
    }

    @Test("fapi2-security-profile-final-client-test-invalid-nonce")
    func invalidNonce() async throws { try await ConformanceWorld([.wrongNonce]).expectRefusal() }

    @Test("fapi2-security-profile-final-client-test-invalid-missing-nonce")
    func missingNonce() async throws { try await ConformanceWorld([.missingNonce]).expectRefusal() }

    @Test("fapi2-security-profile-final-client-test-invalid-iss")
    func invalidIssuer() async throws { try await ConformanceWorld([.wrongIssuer]).expectRefusal() }

    @Test("fapi2-security-profile-final-client-test-invalid-missing-iss")
    func missingIssuer() async throws { try await ConformanceWorld([.missingIssuer]).expectRefusal() }

    @Test("fapi2-security-profile-final-client-test-invalid-aud")
    func invalidAudience() async throws { try await ConformanceWorld([.wrongAudience]).expectRefusal() }

    @Test("fapi2-security-profile-final-client-test-invalid-missing-aud")
    func missingAudience() async throws { try await ConformanceWorld([.missingAudience]).expectRefusal() }

    @Test("fapi2-security-profile-final-client-test-invalid-secondary-aud")
    func secondaryAudience() async throws {
        try await ConformanceWorld([.secondaryAudience]).expectRefusal()
        try await ConformanceWorld([.wrongAuthorizedParty]).expectRefusal()
    }

    @Test("fapi2-security-profile-final-client-test-valid-aud-as-array")
    func audienceAsList() async throws { try await ConformanceWorld([.audienceAsList]).expectSignIn() }

    @Test("fapi2-security-profile-final-client-test-invalid-expired-exp")
    func expired() async throws { try await ConformanceWorld([.expired]).expectRefusal() }

    @Test("fapi2-security-profile-final-client-test-invalid-missing-exp")
    func missingExpiry() async throws { try await ConformanceWorld([.missingExpiry]).expectRefusal() }

    @Test("fapi2-security-profile-final-client-test-invalid-null-alg")
    func nullAlgorithm() async throws { try await ConformanceWorld([.algorithmNone]).expectRefusal() }

    @Test("fapi2-security-profile-final-client-test-invalid-alternate-alg")
    func alternateAlgorithm() async throws {
        try await ConformanceWorld([.otherAlgorithm]) { $0.oidc.signatureAlgorithm = "ES256" }.expectRefusal()
        try await ConformanceWorld([.symmetricWithPublicKey]).expectRefusal()
    }

    @Test("fapi2-security-profile-final-client-test-token-type-case-insensitivity")
    func tokenType() async throws { try await ConformanceWorld([.loudTokenType]).expectSignIn() }

    @Test("fapi2-security-profile-final-client-test-token-endpoint-response-without-expires_in")
    func withoutLifetime() async throws { try await ConformanceWorld([.missingLifetime]).expectSignIn() }
}
