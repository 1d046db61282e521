// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreWire
import Testing

@Suite struct WireMessageTests {
    @Test func `a message that was written is read back the same`() throws {
        let profile = UserProfile(id: "a", email: nil, fullName: "Zoë \"Z\" O'Neil", language: "fr")
        #expect(try UserProfile(body: profile.json.bytes) == profile)
        let config = ConfigResponse(environment: "production", version: "1", updateManifest: nil)
        #expect(try ConfigResponse(body: config.json.bytes) == config)
    }

    @Test func `a member of the wrong type is named`() {
        let error = #expect(throws: NacreError.self) { try UserProfile(json: ["id": "1", "email": 7]) }
        #expect(error?.message.contains("\"email\"") == true)
    }
}
