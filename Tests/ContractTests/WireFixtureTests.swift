// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreWire
import Testing

/// Reads the bodies under `Fixtures`, which both halves must understand.
private func fixture(_ name: String) throws -> [UInt8] {
    let url = try #require(Bundle.module.url(forResource: name, withExtension: "json", subdirectory: "Fixtures"))
    return [UInt8](try Data(contentsOf: url))
}

@Suite struct WireFixtureTests {
    @Test("HO-6: the exchange request is read and written as in the fixture")
    func exchangeRequest() throws {
        let message = try ExchangeRequest(body: fixture("exchange-request"))
        #expect(message.codeVerifier == "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
        #expect(message.json == (try JSONParser.parse(fixture("exchange-request"))))
    }

    @Test(
        "HO-6: the exchange answer is read, also from a newer server",
        arguments: [
            "exchange-response", "exchange-response-newer-server",
        ])
    func exchangeResponse(name: String) throws {
        let message = try ExchangeResponse(body: fixture(name))
        #expect(message.json == (try JSONParser.parse(fixture("exchange-response"))))
    }

    @Test func `a refused exchange is no session`() throws {
        let body = try fixture("exchange-refused")
        #expect(throws: NacreError.self) { try ExchangeResponse(body: body) }
    }

    @Test func `the configuration is read and written as in the fixture`() throws {
        let message = try ConfigResponse(body: fixture("config-response"))
        #expect(message.updateManifest == "https://updates.example.org/channels/prod/manifest.json")
        #expect(message.json == (try JSONParser.parse(fixture("config-response"))))
        let foreign = try ConfigResponse(body: fixture("config-response-django"))
        #expect(foreign.updateManifest == nil)
        #expect(foreign.environment == "development")
    }

    @Test(
        "SE-3: a refusal's code is the one both halves know",
        arguments: [("session-absent", SessionRefusal.absent), ("session-ended", SessionRefusal.ended)])
    func refusal(name: String, code: String) throws {
        #expect(try JSONParser.parse(fixture(name))["code"]?.string == code)
    }

    @Test("SE-3: the profile is read and written as in the fixture")
    func profile() throws {
        let message = try UserProfile(body: fixture("user-profile"))
        #expect(message.fullName == "Ada Lovelace")
        #expect(message.json == (try JSONParser.parse(fixture("user-profile"))))
        #expect(try UserProfile(body: fixture("user-profile-django")).id == "42")
    }

    @Test(
        "HO-6: anything but two strings is malformed",
        arguments: [
            "7", "[]", "\"x\"", "{}", #"{"token":"x"}"#, #"{"token":1,"code_verifier":"x"}"#,
            #"{"token":"x","code_verifier":["x"]}"#, #"{"token":"x","token":"y","code_verifier":"z"}"#, "",
        ])
    func malformed(body: String) {
        #expect(throws: NacreError.self) { try ExchangeRequest(body: Array(body.utf8)) }
    }
}
