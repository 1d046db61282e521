// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import MessagesBackend
import NacreCore
import NacreDatabaseTesting
import NacreHTTP
import NacreRouting
import Testing

/// Takes `subject` or `issuer/subject` for a token, so that a test can be anybody.
struct TrustingVerifier: IdentityVerifier {
    func identity(of token: String) async throws -> Identity {
        guard token != "down" else { throw NacreError("transport.unreachable", "No keys today.") }
        guard token != "forged" else { throw NacreError("identity.invalid", "This is not the gateway's signature.") }
        let parts = token.split(separator: "/").map(String.init)
        let subject = parts.last ?? ""
        return Identity(
            issuer: parts.count > 1 ? parts[0] : "https://id.example.org", subject: subject,
            email: "\(subject)@mail.example.org", name: subject.capitalized)
    }
}

/// A clock that stands at 2026-01-05 08:12:00 UTC.
struct StoppedClock: TimeSource {
    let now = Instant(seconds: 1_767_600_720)
    func sleep(for duration: Duration) async throws { throw CancellationError() }
}

extension String {
    fileprivate var capitalized: String { prefix(1).uppercased() + dropFirst() }
}

/// The folder of sample mails in this checkout.
let sampleMail: String = {
    let root = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
    return "/\(root)/examples/messages/Backend/Seed"
}()

/// Every conversation of an untouched mailbox, read once.
let wholeMailbox = Task { try await Harness().everything() }

/// A mailbox server in memory, and somebody who uses it.
struct Harness {
    private let client: InProcessClient

    init(
        database: String? = nil, generated: Int = 0, samples: String = sampleMail, remote: RemoteAccess? = nil
    ) async throws {
        let place = if let database { database } else { try await TestDatabase.place() }
        let backend = try await MessagesBackend(
            configuration: .init(
                database: place, sampleMail: samples, generatedThreads: generated,
                publicOrigin: "https://mail.example.org", identityVerifier: TrustingVerifier(), remote: remote,
                time: StoppedClock()))
        client = InProcessClient(backend.responder)
    }

    func send(_ request: HTTPRequest) async throws -> (response: HTTPResponse, bytes: [UInt8]) {
        let response = try await client.send(request)
        return (response, try await response.body.collect(upTo: 1 << 26))
    }

    func get(_ path: String, as person: String = "ada") async throws -> (response: HTTPResponse, bytes: [UInt8]) {
        try await send(
            HTTPRequest(authority: "upstream", target: "/api/v1.0/" + path, fields: ["X-Nacre-Identity": person]))
    }

    /// The JSON answer, which must be 200.
    func json(_ path: String, as person: String = "ada") async throws -> JSONValue {
        let (response, bytes) = try await get(path, as: person)
        try #require(response.status == .ok, "\(path): \(String(decoding: bytes, as: UTF8.self))")
        return try JSONParser.parse(bytes)
    }

    func post(
        _ path: String, _ body: String, type: String = "application/json", as person: String = "ada"
    ) async throws -> (status: HTTPStatus, json: JSONValue) {
        let (response, bytes) = try await send(
            HTTPRequest(
                method: .post, authority: "upstream", target: "/api/v1.0/" + path,
                fields: ["X-Nacre-Identity": person, "Content-Type": type], body: .text(body)))
        return (response.status, try JSONParser.parse(bytes))
    }

    /// Any request, with its answer as JSON where it is one.
    func call(
        _ method: HTTPMethod, _ path: String, _ body: [UInt8] = [], fields: [String: String] = [:],
        as person: String = "ada"
    ) async throws -> (status: HTTPStatus, json: JSONValue, fields: HTTPFields, bytes: [UInt8]) {
        var all: HTTPFields = ["X-Nacre-Identity": person]
        for (name, value) in fields { all[name] = value }
        let (response, bytes) = try await send(
            HTTPRequest(
                method: method, authority: "upstream", target: "/api/v1.0/" + path, fields: all,
                body: body.isEmpty ? .none : .bytes(body)))
        return (response.status, (try? JSONParser.parse(bytes)) ?? .null, response.fields, bytes)
    }

    /// Stores a draft; the answer must be 200.
    @discardableResult
    func save(_ id: String, _ draft: JSONValue, as person: String = "ada") async throws -> JSONValue {
        let (status, json, _, _) = try await call(
            .put, "drafts/\(id)/", draft.bytes, fields: ["Content-Type": "application/json"], as: person)
        try #require(status == .ok, "\(json)")
        return json
    }

    /// Puts a file to a draft.
    @discardableResult
    func attach(
        _ name: String, _ bytes: [UInt8], type: String = "text/plain", position: String? = nil, to draft: String,
        as person: String = "ada"
    ) async throws -> (status: HTTPStatus, json: JSONValue) {
        var fields = ["Content-Type": type, "X-File-Name": PercentEncoding.encode(name)]
        fields["X-File-Position"] = position
        let answer = try await call(.post, "drafts/\(draft)/attachments/", bytes, fields: fields, as: person)
        return (answer.status, answer.json)
    }

    /// The rows of a list.
    func threads(_ query: String, as person: String = "ada") async throws -> [JSONValue] {
        try await json("threads/?limit=200&" + query, as: person)["results"]?.array ?? []
    }

    /// The identifier of the one conversation that a search finds.
    func find(_ words: String, in mailbox: String = "inbox", as person: String = "ada") async throws -> String {
        let query = "mailbox=\(mailbox)&q=\(PercentEncoding.encode(words))"
        let found = try await threads(query, as: person)
        try #require(found.count == 1, "\(words) finds \(found.compactMap { $0["subject"]?.string })")
        return try #require(found[0]["id"]?.string)
    }

    /// Every conversation of every mailbox, whole.
    func everything(as person: String = "ada") async throws -> [JSONValue] {
        var whole: [JSONValue] = []
        for mailbox in ["inbox", "archive", "trash"] {
            for row in try await threads("mailbox=\(mailbox)", as: person) {
                let id = try #require(row["id"]?.string)
                whole.append(try await json("threads/\(id)/", as: person))
            }
        }
        return whole
    }
}
