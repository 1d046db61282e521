// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreApp
import NacreCore
import NacreHTTP
import Testing

@Suite struct AppConfigurationTests {
    static let sample = """
        { "app": { "id": "org.example.messages", "name": "Messages", "version": "1.2.0", "build": 42,
                   "scheme": "stmessages", "origin": "https://app.mail.example.org" },
          "bundle": { "path": "web", "version": "0.1.0", "devServer": null },
          "api": { "origin": "https://mail.example.org", "csrf": "django", "media": ["/api/v1.0/blob/"] },
          "signIn": { "kind": "handoff" }, "updates": { "rootKeys": ["\(UpdateKeys.roots[0])"] },
          "push": { "transports": ["apns"] } }
        """

    static func read(
        _ text: String = sample, _ environment: [String: String] = [:], development: Bool = false
    ) throws(NacreError) -> AppConfiguration {
        try AppConfiguration(parsing: text, environment: environment, isDevelopment: development)
    }

    static func fault(_ text: String = sample, _ environment: [String: String] = [:], development: Bool = false)
        -> NacreError?
    {
        do throws(NacreError) {
            _ = try read(text, environment, development: development)
            return nil
        } catch { return error }
    }

    @Test("A whole file is read")
    func whole() throws {
        let read = try Self.read()
        #expect(read.id == "org.example.messages" && read.build == "42" && read.scheme == "stmessages")
        #expect(read.origin.description == "https://app.mail.example.org")
        #expect(read.api.description == "https://mail.example.org" && read.visibleAPI == read.api)
        #expect(read.bundlePath == "web" && read.devServer == nil && !read.serviceWorker)
        #expect(read.media == ["/api/v1.0/blob/"])
    }

    @Test("What is left out has its default")
    func defaults() throws {
        let read = try Self.read(
            #"{"app":{"id":"org.example.a","name":"A","version":"1.0"},"api":{"origin":"https://a.example"}}"#)
        #expect(read.origin.description == "https://localhost" && read.bundlePath == "dist")
        #expect(read.build == "1" && read.scheme == "stmessages" && read.stamp == "dev" && read.signIn == .handoff)
    }

    static let unknownKeys: [(String, String)] = [
        (#""nmae": "x", "version""#, "app.nmae"), (#""shceme": "x", "version""#, "app.shceme"),
    ]

    @Test("An unknown key is an error that names the nearest", arguments: unknownKeys)
    func unknown(insert: String, key: String) throws {
        let error = try #require(
            Self.fault(Self.sample.replacing("\"version\": \"1.2.0\"", with: insert + ": \"1.2.0\"")))
        #expect(error.code == "configuration.unknown_key")
        #expect(error.message.contains("\"\(key)\"") && error.message.contains("Did you mean"))
    }

    static let secrets: [String] = [
        #""api": { "clientSecret": "s3cret","#, #""api": { "password": "x","#, #""api": { "apiKey": "x","#,
        #""api": { "auth_token": "x","#, #""api": { "note": "-----BEGIN PRIVATE KEY-----\nMII","#,
        #""api": { "note": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln","#,
        #""api": { "note": "ghp_16C7e42F292c6912E7710c838347Ae178B4a","#,
        #""api": { "note": "AKIAIOSFODNN7EXAMPLE","#,
    ]

    @Test("A secret-looking literal is an error that names its key and does not repeat it", arguments: secrets)
    func secret(insert: String) throws {
        let error = try #require(Self.fault(Self.sample.replacing("\"api\": {", with: insert)))
        #expect(error.code == "configuration.secret")
        #expect(error.message.contains("api."))
        #expect(!error.message.contains("s3cret") && !error.message.contains("MII") && !error.message.contains("eyJ"))
    }

    @Test("NB-8: a release takes neither a cleartext API nor a development server; development does")
    func cleartext() throws {
        let clear = Self.sample.replacing("https://mail.example.org", with: "http://localhost:8901")
        #expect(Self.fault(clear)?.code == "configuration.cleartext")
        let read = try Self.read(clear, development: true)
        #expect(read.api.description == "http://localhost:8901")
        #expect(read.visibleAPI.description == "https://localhost:8901")
        let served = ["MOBILE_DEV_SERVER_URL": "http://localhost:8900"]
        #expect(Self.fault(Self.sample, served)?.code == "configuration.dev_server")
        #expect(try Self.read(Self.sample, served, development: true).devServer?.description == "http://localhost:8900")
        #expect(try Self.read(Self.sample, ["MOBILE_DEV_SERVER_URL": ""]).devServer == nil)
    }

    @Test("SH-11: the environment's names win over the file; empty means unset")
    func environment() throws {
        let read = try Self.read(
            Self.sample,
            [
                "MOBILE_APP_ID": "org.other.app", "MOBILE_APP_NAME": "Other", "MOBILE_AUTH_SCHEME": "stother",
                "MOBILE_VERSION_CODE": "7", "NEXT_PUBLIC_API_ORIGIN": "https://api.example",
                "SOURCE_VERSION": "a1b2c3d",
            ])
        #expect(read.id == "org.other.app" && read.name == "Other" && read.scheme == "stother" && read.build == "7")
        #expect(read.api.description == "https://api.example" && read.stamp == "a1b2c3d")
        let other = try Self.read(Self.sample, ["MOBILE_APP_ID": "", "CAP_API_URL": "https://cap.example"])
        #expect(other.id == "org.example.messages" && other.api.description == "https://cap.example")
        #expect(Self.fault(Self.sample, ["NEXT_PUBLIC_API_ORIGIN": "/api"])?.code == "configuration.value")
        #expect(Self.fault(Self.sample, ["MOBILE_VERSION_CODE": "seven"])?.code == "configuration.value")
        #expect(Self.fault(Self.sample, ["MOBILE_OTA_SIGNING_PRIVATE_KEY_B64": "x"])?.code == "configuration.secret")
    }

    static let wrongValues: [(String, String)] = [
        ("\"scheme\": \"stmessages\"", "\"scheme\": \"st_messages\""),
        ("\"scheme\": \"stmessages\"", "\"scheme\": \"StMessages\""),
        ("\"scheme\": \"stmessages\"", "\"scheme\": \"\""), ("\"scheme\": \"stmessages\"", "\"scheme\": \"https\""),
        ("org.example.messages", "messages"), ("org.example.messages", "org..messages"),
        ("org.example.messages", "org.example.../x"), ("org.example.messages", "org.1.app"),
        ("https://app.mail.example.org", "http://localhost"), ("https://app.mail.example.org", "capacitor://localhost"),
        ("https://mail.example.org", "mail.example.org"), ("https://mail.example.org", "https://mail.example.org/api"),
        ("\"path\": \"web\"", "\"path\": \"../web\""), ("\"path\": \"web\"", "\"path\": 1"),
        ("\"kind\": \"handoff\"", "\"kind\": \"magic\""), ("\"build\": 42", "\"build\": 0"),
        ("[\"/api/v1.0/blob/\"]", "[\"api\"]"),
    ]

    @Test("SH-4: a wrong value is an error that names its key", arguments: wrongValues)
    func wrong(find: String, replace: String) throws {
        let error = try #require(Self.fault(Self.sample.replacing(find, with: replace)))
        #expect(error.code == "configuration.value" || error.code == "configuration.type")
        #expect(error.message.contains("nacre.json: \""))
    }

    @Test("UP-11: the version report is one line")
    func report() throws {
        let report = try Self.read(Self.sample, ["SOURCE_VERSION": "a1b2c3d"]).versionReport(platform: "linux")
        #expect(report["report"] == "app 1.2.0 (42) · web 0.1.0 (a1b2c3d) · linux")
        #expect(report["native"] == ["version": "1.2.0", "build": "42"])
        #expect(report["web"] == ["version": "0.1.0", "stamp": "a1b2c3d"])
    }
}
