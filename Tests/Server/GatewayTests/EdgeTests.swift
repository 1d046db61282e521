// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreGateway
import NacreHTTP
import NacreRouting
import NacreTesting
import NacreWire
import Testing

@Suite struct EdgeTests {
    @Test func `configuration, health and readiness answer everybody`() async throws {
        let fixture = try await GatewayFixture { $0.updateManifest = "https://updates.test/manifest.json" }
        let browser = fixture.browser()
        let config = try await browser.send(.get, "/api/v1.0/config/")
        #expect(try await config.json()["MOBILE_OTA_MANIFEST_URL"] == "https://updates.test/manifest.json")
        #expect(try await config.json()["MOBILE_OTA_FRESHNESS"] == nil)
        #expect(try await browser.send(.get, "/healthz").status == .ok)
        #expect(try await browser.send(.get, "/readyz").status == .ok)
        #expect(try await browser.send(.post, "/api/v1.0/config/").status == .methodNotAllowed)
        #expect(try await browser.send(.get, "/elsewhere").status == .notFound)
    }

    @Test("UP-1: the signed word on the newest release is passed on as it is")
    func freshness() async throws {
        let word: JSONValue = ["payload": "e30=", "signatures": []]
        let fixture = try await GatewayFixture { $0.freshness = { word } }
        let config = try await fixture.browser().send(.get, "/api/v1.0/config/")
        #expect(try await config.json()["MOBILE_OTA_FRESHNESS"] == word)
    }

    @Test(
        "the client's address is believed from trusted proxies only",
        arguments: [
            ([], "198.51.100.1", "192.0.2.1"), (["192.0.2.1"], "198.51.100.1", "198.51.100.1"),
            (["192.0.2.1"], "203.0.113.5, 198.51.100.1", "198.51.100.1"),
            (["192.0.2.1", "198.51.100.1"], "203.0.113.5, 198.51.100.1", "203.0.113.5"),
            (["192.0.2.1"], "6.6.6.6\u{600}, 198.51.100.1", "198.51.100.1"),
            (["192.0.2.1"], "any text", "192.0.2.1"), (["192.0.2.1"], "unknown, 198.51.100.1", "198.51.100.1"),
        ] as [([String], String, String)])
    func clientAddress(trusted: [String], forwarded: String, expected: String) async throws {
        let fixture = try await GatewayFixture { $0.trustedProxies = trusted }
        _ = try await fixture.browser(address: "192.0.2.1").send(
            .get, "/healthz", fields: ["X-Forwarded-For": forwarded])
        let record = try #require(fixture.sink.records.last { $0.event == "request.done" })
        #expect(record.fields.contains { $0.0 == "client" && $0.1 == .string(expected) })
    }

    @Test("HO-6: hopping through one IPv6 network does not get around the limit")
    func networks() async throws {
        let fixture = try await GatewayFixture()
        for number in 0..<20 {
            let client = fixture.browser(address: "2001:db8:1:2:0:0:0:\(number)")
            #expect(try await client.exchange(token: "x", verifier: "y").status == .forbidden)
        }
        for address in ["2001:db8:1:2:ffff:0:0:1", "2001:db8:1:2::5", "2001:DB8:1:2::a:b", "[2001:db8:1:2::6]:443"] {
            let client = fixture.browser(address: address)
            #expect(try await client.exchange(token: "x", verifier: "y").status == .tooManyRequests, "\(address)")
        }
    }

    @Test func `no secret reaches the log`() async throws {
        let fixture = try await GatewayFixture()
        let browser = fixture.browser()
        let page = try await browser.follow(
            "/api/v1.0/authenticate/?mobile_scheme=stmessages&code_challenge=\(PKCEPair.challenge)&flow=secretflow")
        let token = try #require(try await page.link()["token"])
        let app = fixture.browser()
        _ = try await app.exchange(token: token, verifier: PKCEPair.verifier)
        fixture.provider.faults = [.wrongNonce]
        _ = try await fixture.browser().follow("/api/v1.0/authenticate/")
        var secrets = [token, PKCEPair.verifier, PKCEPair.challenge, "secretflow", fixture.provider.clientSecret]
        secrets += browser.trail.compactMap {
            FormFields(decoding: $0.split(separator: "?").last ?? "")
        }
        .flatMap { fields in ["state", "code", "nonce", "code_challenge"].compactMap { fields[$0] } }
        secrets += app.cookies.values
        #expect(secrets.count > 8)
        for secret in secrets { #expect(!fixture.sink.text.contains(secret)) }
    }

    @Test func `the web bundle is served with its own routes, and nothing outside it`() async throws {
        let folder = try TemporaryFolder()
        try folder.write("dist/index.html", "<title>Messages</title>")
        try folder.write("dist/assets/app.js", "let a = 1")
        try folder.write("secret.txt", "secret")
        try folder.write("dist/.env", "secret")
        try folder.link("dist/link.txt", to: folder.file("secret.txt"))
        let bundle = try StaticBundle(path: folder.file("dist"))
        let fixture = try await GatewayFixture(bundle: bundle)
        let browser = fixture.browser()
        let first = try await browser.send(.get, "/")
        #expect(try await first.text() == "<title>Messages</title>")
        #expect(try await browser.send(.get, "/threads/7").text() == "<title>Messages</title>")
        let script = try await browser.send(.get, "/assets/app.js")
        #expect(script.fields["Content-Type"] == "text/javascript; charset=utf-8")
        let tag = try #require(script.fields["ETag"])
        #expect(try await browser.send(.get, "/assets/app.js", fields: ["If-None-Match": tag]).status == .notModified)
        #expect(try await browser.send(.post, "/").status == .methodNotAllowed)
        for path in [
            "/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "/assets/..%5c..%5csecret.txt", "/link.txt",
            "/.env", "/missing.png", "/%00", "//etc/passwd", "/etc/passwd.txt",
        ] {
            let response = try await browser.send(.get, path)
            #expect(try await !response.text().contains("secret"), "\(path)")
            #expect(try await !response.text().contains("root:"), "\(path)")
        }
        #expect(throws: NacreError.self) { try StaticBundle(path: folder.path) }
    }
}
