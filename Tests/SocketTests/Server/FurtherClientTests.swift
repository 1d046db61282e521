// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreCrypto
import NacreCurl
import NacreHTTP
import NacreJOSE
import NacreListener
import NacreRouting
import NacreServer
import NacreTesting
import Synchronization
import Testing

/// A whole server whose configuration names two applications beside the gateway, and those applications.
@Suite struct FurtherClientTests {
    private static let secret = "a-secret-of-the-agenda-1"
    private static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    private static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

    /// A browser with a jar, at the provider's real port.
    private final class Visitor: Sendable {
        let authority: String
        private let jar = Mutex<[String: String]>([:])
        private let transport = CurlTransport()

        init(port: Int) { authority = "127.0.0.1:\(port)" }

        func send(
            _ method: HTTPMethod = .get, _ target: String, _ form: FormFields? = nil, fields: HTTPFields = [:]
        ) async throws -> HTTPResponse {
            var fields = fields
            let cookies = jar.withLock { $0.map { "\($0.key)=\($0.value)" }.sorted() }
            if !cookies.isEmpty { fields["Cookie"] = cookies.joined(separator: "; ") }
            if form != nil { fields["Content-Type"] = "application/x-www-form-urlencoded" }
            let answer = try await transport.send(
                HTTPRequest(
                    method: method, authority: authority, target: target, fields: fields,
                    body: form.map { .text($0.encoded) } ?? .none))
            for line in answer.fields.values("Set-Cookie") {
                let pair = line.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1).map(String.init)
                jar.withLock { $0[pair[0]] = line.contains("Max-Age=0") ? nil : pair.last }
            }
            return answer
        }

        func text(_ answer: HTTPResponse) async throws -> String {
            String(decoding: try await answer.body.collect(upTo: 1 << 20), as: UTF8.self)
        }
    }

    private static func parameters(_ client: String, _ redirect: String) -> FormFields {
        [
            "response_type": "code", "client_id": client, "redirect_uri": redirect, "scope": "openid email",
            "state": "s1", "nonce": "n1", "acr_values": "low", "code_challenge": Self.challenge,
            "code_challenge_method": "S256",
        ]
    }

    private func code(in answer: HTTPResponse, at redirect: String) throws -> String {
        let location = try #require(answer.fields["Location"])
        #expect(location.hasPrefix(redirect + "?"))
        return try #require(FormFields(decoding: location.dropFirst(redirect.count + 1))?["code"])
    }

    private func claims(_ answer: HTTPResponse, of client: String, by algorithm: String, _ visitor: Visitor)
        async throws
        -> JWTClaims
    {
        #expect(answer.status == .ok)
        let body = try JSONParser.parse(try await answer.body.collect(upTo: 1 << 20))
        let token = try #require(body["id_token"]?.string)
        #expect(try JWS(parsing: token).header.algorithm == algorithm)
        let keys = JWKSCache(
            url: try WebURL("http://\(visitor.authority)/jwks"), transport: CurlTransport(), time: SystemTime())
        let expectation = IDTokenExpectation(
            issuer: "http://localhost:8902", clientID: client, nonce: .required("n1"))
        return try await IDTokenVerifier(keys: keys, time: SystemTime()).verify(token, expecting: expectation)
    }

    @Test(
        "PV-1, PV-2: a second client of the configuration signs in, a third one silently, and sign-out is told by the back channel"
    )
    func signsIn() async throws {
        let folder = NSTemporaryDirectory() + "nacre-clients-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let told = Mutex<[String]>([])
        let application = HTTPListener(
            configuration: ListenerConfiguration(host: "127.0.0.1", port: 0),
            responder: ClosureResponder { request, _ in
                let body = try await request.body.collect(upTo: 1 << 16)
                told.withLock { $0.append(String(decoding: body, as: UTF8.self)) }
                return HTTPResponse(status: .ok)
            }, log: .none)
        let port = try await application.start()
        let agenda = "https://agenda.example.test/cb"
        let json: JSONValue = [
            "data": .string(folder), "listen": ["port": 0],
            "provider": [
                "listen": ["port": 0], "issuer": "http://localhost:8902",
                "levels": [["acr": "low", "factors": ["password"]]],
                "clients": [
                    [
                        "id": "agenda", "name": "Agenda", "secretFile": "agenda.secret",
                        "redirectURIs": [.string(agenda)],
                        "idTokenAlgorithm": "RS256",
                        "backchannelLogoutURI": .string("http://127.0.0.1:\(port)/told"),
                    ],
                    ["id": "native", "public": true, "redirectURIs": ["http://127.0.0.1/cb"]],
                ],
            ],
        ]
        let configuration = try ServerConfiguration(
            json: json, file: "nacre.server.json", environment: ["NACRE_ENV": "development"]
        ) { _ in Self.secret }
        let server = try await NacreServer(configuration, log: .none)
        let places = try await server.start()
        let visitor = Visitor(port: try #require(places.first { $0.name == "provider" }).port)

        // The person signs in on the form, for the confidential client.
        let form = try await visitor.text(
            try await visitor.send(.get, "/authorize?" + Self.parameters("agenda", agenda).encoded))
        #expect(form.contains("Agenda"))
        let attempt = try #require(
            form.split(separator: "name=\"attempt\" value=\"").dropFirst().first?.prefix { $0 != "\"" })
        let back = try await visitor.send(
            .post, "/login",
            ["attempt": String(attempt), "username": "alice", "password": "alice-password-1", "remember": "1"])
        var redemption: FormFields = [
            "grant_type": "authorization_code", "code": try code(in: back, at: agenda), "redirect_uri": agenda,
            "code_verifier": Self.verifier,
        ]
        let wrong = Base64.encode(Array("agenda:another-secret-of-24-chars".utf8))
        let refused = try await visitor.send(.post, "/token", redemption, fields: ["Authorization": "Basic \(wrong)"])
        #expect(refused.status == .unauthorized)
        let right = Base64.encode(Array("agenda:\(Self.secret)".utf8))
        let tokens = try await visitor.send(.post, "/token", redemption, fields: ["Authorization": "Basic \(right)"])
        let claims = try await claims(tokens, of: "agenda", by: "RS256", visitor)
        #expect(claims.authenticationContext == "low")

        // The public client comes from another port than it registered, and nobody is asked anything (RFC 8252).
        let native = "http://127.0.0.1:45677/cb"
        let silent = try await visitor.send(.get, "/authorize?" + Self.parameters("native", native).encoded)
        redemption = [
            "grant_type": "authorization_code", "code": try code(in: silent, at: native), "redirect_uri": native,
            "code_verifier": Self.verifier, "client_id": "native",
        ]
        let own = try await self.claims(
            try await visitor.send(.post, "/token", redemption), of: "native", by: "ES256", visitor)
        #expect(own.subject == claims.subject)

        // Signing out tells the client that wants to hear it.
        let page = try await visitor.text(try await visitor.send(.get, "/logout"))
        let question = try #require(
            page.split(separator: "name=\"attempt\" value=\"").dropFirst().first?.prefix { $0 != "\"" })
        _ = try await visitor.send(.post, "/logout/confirm", ["attempt": String(question), "action": "logout"])
        try await until { told.withLock { !$0.isEmpty } }
        let sent = try #require(FormFields(decoding: told.withLock { $0[0] })?["logout_token"])
        let payload = try JWTClaims(parsing: JWS(parsing: sent).unverifiedPayload)
        #expect(payload.audience == ["agenda"] && payload.subject == claims.subject)
        await server.stop()
        await application.stop(grace: .zero)
    }
}
