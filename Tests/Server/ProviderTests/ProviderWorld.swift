// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreDatabase
import NacreDatabaseTesting
import NacreHTTP
import NacreJOSE
import NacreProvider
import NacreRouting
import NacreTesting
import Synchronization
import Testing

/// A provider in memory with a few clients, at a moment that stands still.
struct ProviderWorld {
    static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    static let callback = "http://localhost:8901/api/v1.0/callback/"

    let time = ManualTime()
    let sink = RecordingLogSink()
    let database: Database
    let provider: EmbeddedProvider
    let configuration: ProviderConfiguration

    init(
        development: Bool = true, database: Database? = nil,
        changing change: (inout ProviderConfiguration) -> Void = { _ in }
    ) async throws {
        var messages = ProviderClient(
            id: "messages", secret: "messages-secret-1", name: "Messages", redirectURIs: [Self.callback])
        messages.postLogoutRedirectURIs = ["http://localhost:8901/api/v1.0/logout-callback/"]
        let agenda = ProviderClient(
            id: "agenda", secret: "agenda-secret-1", name: "Agenda", redirectURIs: ["https://agenda.example.test/cb"])
        let native = ProviderClient(
            id: "native", secret: nil, name: "Native", redirectURIs: ["com.example.app:/oauth", "http://127.0.0.1/cb"])
        var configuration = ProviderConfiguration(clients: [messages, agenda, native])
        configuration.isDevelopment = development
        configuration.passwordCost = .test
        change(&configuration)
        self.configuration = configuration
        if let database { self.database = database } else { self.database = try await TestDatabase.make(time: time) }
        provider = try await EmbeddedProvider(
            configuration: configuration, database: self.database, time: time, random: SystemRandom(),
            log: Log(label: "test", minimum: .debug, time: time, sink: sink))
    }

    /// What everybody asks for, with changes; nil takes a parameter out.
    static func parameters(_ changes: [String: String?] = [:]) -> FormFields {
        var members: [String: String?] = [
            "response_type": "code", "client_id": "messages", "redirect_uri": callback,
            "scope": "openid profile email", "state": "state-1", "nonce": "nonce-1", "code_challenge": challenge,
            "code_challenge_method": "S256",
        ]
        for (name, value) in changes { members[name] = value }
        var fields = FormFields()
        for (name, value) in members.sorted(by: { $0.key < $1.key }) {
            if let value { fields.append(name, value) }
        }
        return fields
    }

    func browser(address: String = "192.0.2.1") -> TestBrowser {
        TestBrowser(client: InProcessClient(provider.responder, clientAddress: address))
    }

    /// A client's own requests.
    func send(_ request: HTTPRequest) async throws -> (status: HTTPStatus, json: JSONValue, fields: HTTPFields) {
        let response = try await InProcessClient(provider.responder).send(request)
        let bytes = try await response.body.collect(upTo: 1 << 20)
        return (response.status, bytes.isEmpty ? .null : try JSONParser.parse(bytes), response.fields)
    }

    func token(
        _ form: FormFields, client: String? = "messages", secret: String = "messages-secret-1"
    ) async throws -> (status: HTTPStatus, json: JSONValue, fields: HTTPFields) {
        var fields: HTTPFields = ["Content-Type": "application/x-www-form-urlencoded"]
        if let client { fields["Authorization"] = "Basic " + Base64.encode(Array("\(client):\(secret)".utf8)) }
        return try await send(
            HTTPRequest(
                method: .post, authority: "localhost:8902", target: "/token", fields: fields, body: .text(form.encoded))
        )
    }

    func redeem(_ code: String, _ changes: [String: String?] = [:]) async throws -> (
        status: HTTPStatus, json: JSONValue, fields: HTTPFields
    ) {
        var members: [String: String?] = [
            "grant_type": "authorization_code", "code": code, "redirect_uri": Self.callback,
            "code_verifier": Self.verifier,
        ]
        for (name, value) in changes { members[name] = value }
        var form = FormFields()
        for (name, value) in members { if let value { form.append(name, value) } }
        return try await token(form)
    }

    func refresh(_ token: String) async throws -> (status: HTTPStatus, json: JSONValue, fields: HTTPFields) {
        try await self.token(["grant_type": "refresh_token", "refresh_token": token])
    }

    func userInfo(_ accessToken: String) async throws -> (status: HTTPStatus, json: JSONValue, fields: HTTPFields) {
        try await send(
            HTTPRequest(
                authority: "localhost:8902", target: "/userinfo", fields: ["Authorization": "Bearer " + accessToken]))
    }

    /// The claims of an ID token, checked as a relying party does.
    func verify(_ idToken: String, client: String = "messages") async throws -> JWTClaims {
        let keys = JWKSCache(
            url: try WebURL(configuration.issuer + "/jwks"), transport: InProcessClient(provider.responder), time: time)
        return try await IDTokenVerifier(keys: keys, time: time).verify(
            idToken,
            expecting: IDTokenExpectation(
                issuer: configuration.issuer, clientID: client, nonce: .required("nonce-1")))
    }

    /// Everything in the database as one text.
    func dump() async throws -> String {
        let tables = try await database.tables()
        return try await database.read { sql in
            var text = ""
            for table in tables { for row in try sql.query("SELECT * FROM \(table)") { text += "\(row.values)\n" } }
            return text
        }
    }
}

/// A browser with a cookie jar for one host, that follows nothing by itself.
final class TestBrowser: Sendable {
    let client: InProcessClient
    private let jar = Mutex<[String: String]>([:])
    private let lines = Mutex<[String]>([])

    init(client: InProcessClient) { self.client = client }

    var cookies: [String: String] {
        get { jar.withLock { $0 } }
        set { jar.withLock { $0 = newValue } }
    }
    /// The Set-Cookie lines so far.
    var settings: [String] { lines.withLock { $0 } }

    struct Answer {
        let status: HTTPStatus
        let fields: HTTPFields
        let text: String
        var location: String? { fields["Location"] }
        /// A member of the query of the address that the answer leads to.
        func member(_ name: String) -> String? {
            guard let mark = location?.firstIndex(of: "?"), let location else { return nil }
            return FormFields(decoding: location[location.index(after: mark)...])?[name]
        }
        /// The sealed text of the form.
        var attempt: String? {
            text.split(separator: "name=\"attempt\" value=\"", maxSplits: 1).dropFirst().first?
                .split(separator: "\"").first.map(String.init)
        }
        var isForm: Bool { text.contains("name=\"password\"") }
    }

    func send(_ request: HTTPRequest) async throws -> Answer {
        var request = request
        if !cookies.isEmpty {
            request.fields["Cookie"] = cookies.map { "\($0.key)=\($0.value)" }.sorted().joined(separator: "; ")
        }
        let response = try await client.send(request)
        for line in response.fields.values("Set-Cookie") {
            lines.withLock { $0.append(line) }
            let pair = line.split(separator: ";")[0].split(separator: "=", maxSplits: 1)
            jar.withLock { $0[String(pair[0])] = line.contains("Max-Age=0") ? nil : String(pair[1]) }
        }
        return Answer(
            status: response.status, fields: response.fields,
            text: String(decoding: try await response.body.collect(upTo: 1 << 20), as: UTF8.self))
    }

    func get(_ target: String, _ fields: HTTPFields = [:]) async throws -> Answer {
        try await send(HTTPRequest(authority: "localhost:8902", target: target, fields: fields))
    }

    func authorize(_ changes: [String: String?] = [:], _ fields: HTTPFields = [:]) async throws -> Answer {
        try await get("/authorize?" + ProviderWorld.parameters(changes).encoded, fields)
    }

    func post(_ target: String, _ form: FormFields, type: String = "application/x-www-form-urlencoded") async throws
        -> Answer
    {
        try await send(
            HTTPRequest(
                method: .post, authority: "localhost:8902", target: target, fields: ["Content-Type": type],
                body: .text(form.encoded)))
    }

    func submit(
        _ page: Answer, username: String = "alice", password: String = "alice-password-1", remember: Bool = true
    ) async throws -> Answer {
        var form: FormFields = ["attempt": page.attempt ?? "", "username": username, "password": password]
        if remember { form.append("remember", "1") }
        return try await post("/login", form)
    }

    /// Authorization request, form, password: the answer with the code.
    func signIn(
        _ changes: [String: String?] = [:], username: String = "alice", password: String = "alice-password-1",
        remember: Bool = true
    ) async throws -> Answer {
        let page = try await authorize(changes)
        try #require(page.isForm)
        return try await submit(page, username: username, password: password, remember: remember)
    }
}
