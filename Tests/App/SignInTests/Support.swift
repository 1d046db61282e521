// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreHTTP
import NacrePorts
import NacreSignIn
import NacreTesting
import NacreWire
import Synchronization
import Testing

/// A server that hands off sessions as the gateway does, with what a test needs to break it.
final class FakeServer: HTTPTransport {
    struct State {
        var challenges: [String: String] = [:]  // one-time token → challenge
        var sessions: Set<String> = []
        var online = true
        var requests: [HTTPRequest] = []
        var bodies: [String] = []
        var profileStatus: HTTPStatus?
        var profileBody: JSONValue = ["id": "42", "email": "ada@example.org", "full_name": "Ada", "language": "en"]
        var exchangeStatus: HTTPStatus?
        var refusal = SessionRefusal.absent
        var revocationStatus: HTTPStatus?
        var gate: CheckedContinuation<Void, Never>?
        var isHolding = false
        var revocationGate: CheckedContinuation<Void, Never>?
        var isHoldingRevocation = false
        var last = 0
    }
    let state = Mutex(State())

    var requests: [HTTPRequest] { state.withLock { $0.requests } }
    var bodies: [String] { state.withLock { $0.bodies } }
    var sessions: Set<String> { state.withLock { $0.sessions } }
    func change(_ body: @Sendable (inout State) -> Void) { state.withLock { body(&$0) } }
    func requests(to path: String) -> [HTTPRequest] { requests.filter { $0.path == path } }

    /// What the browser's round trip ends with: a link for the attempt that opened `url`.
    func link(for url: String, echo: Bool = true) -> String {
        guard let url = try? WebURL(url), let query = FormFields(decoding: url.query ?? "") else { return "" }
        let token = state.withLock { state in
            state.last += 1
            state.challenges["token\(state.last)"] = query["code_challenge"] ?? ""
            return "token\(state.last)"
        }
        return "stmessages://auth?token=\(token)" + (echo ? "&flow=\(query["flow"] ?? "")" : "")
    }

    /// Lets the next exchange wait until `letGo`.
    func hold() { change { $0.isHolding = true } }
    func letGo() {
        let gate = state.withLock { state in
            state.isHolding = false
            defer { state.gate = nil }
            return state.gate
        }
        gate?.resume()
    }

    /// Lets the next revocation wait until `letRevocationGo`.
    func holdRevocation() { change { $0.isHoldingRevocation = true } }
    func letRevocationGo() {
        let gate = state.withLock { state in
            defer { state.revocationGate = nil }
            return state.revocationGate
        }
        gate?.resume()
    }

    private func waitWhereHeld() async {
        let isHeld = state.withLock { state in
            defer { state.isHoldingRevocation = false }
            return state.isHoldingRevocation
        }
        guard isHeld else { return }
        await withCheckedContinuation { continuation in state.withLock { $0.revocationGate = continuation } }
    }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let body = String(decoding: try await request.body.collect(upTo: 1 << 20), as: UTF8.self)
        state.withLock { state in
            state.requests.append(request)
            state.bodies.append(body)
        }
        guard state.withLock({ $0.online }) else {
            throw NacreError("transport.unreachable", "The server cannot be reached.")
        }
        switch request.path {
        case "/api/v1.0/mobile/auth/exchange/": return try await exchange(body)
        case "/api/v1.0/users/me/": return me(request)
        case "/api/v1.0/mobile/auth/logout/":
            await waitWhereHeld()
            if let status = state.withLock({ $0.revocationStatus }) { return HTTPResponse(status: status) }
            state.withLock { state in
                if let id = Self.session(request) { state.sessions.remove(id) }
            }
            return HTTPResponse(status: .noContent)
        default: return HTTPResponse(status: Self.session(request) == nil ? .unauthorized : .ok)
        }
    }

    static func session(_ request: HTTPRequest) -> String? {
        request.fields["Cookie"]?.split(separator: "; ").first { $0.hasPrefix("sessionid=") }.map {
            String($0.dropFirst("sessionid=".count))
        }
    }

    private func exchange(_ body: String) async throws -> HTTPResponse {
        let message = try JSONParser.parse(body)
        let token = message["token"]?.string ?? ""
        let verifier = message["code_verifier"]?.string ?? ""
        // Consumed before it is checked.
        let (challenge, forced) = state.withLock { ($0.challenges.removeValue(forKey: token), $0.exchangeStatus) }
        if state.withLock({ $0.isHolding }) {
            await withCheckedContinuation { continuation in state.withLock { $0.gate = continuation } }
        }
        if let forced { return HTTPResponse(status: forced) }
        guard let challenge, challenge == Base64URL.encode(SHA256.hash(verifier)) else {
            return HTTPResponse(status: .forbidden)
        }
        let id = state.withLock { state in
            state.last += 1
            state.sessions.insert("session\(state.last)")
            return "session\(state.last)"
        }
        let answer: JSONValue = ["csrf_token": .string("csrf-\(id)")]
        return HTTPResponse(
            fields: ["Set-Cookie": "sessionid=\(id); Path=/; HttpOnly; SameSite=Lax; Max-Age=2592000"],
            body: .bytes(answer.bytes))
    }

    private func me(_ request: HTTPRequest) -> HTTPResponse {
        state.withLock { state in
            if let status = state.profileStatus {
                return HTTPResponse(status: status, body: .bytes(state.profileBody.bytes))
            }
            guard let id = Self.session(request), state.sessions.contains(id) else {
                // As the gateway says it; its own tests hold it to these codes.
                let body: JSONValue = ["code": .string(state.refusal), "message": "Sign in again."]
                return HTTPResponse(status: .unauthorized, body: .bytes(body.bytes))
            }
            return HTTPResponse(body: .bytes(state.profileBody.bytes))
        }
    }
}

final class FakeBrowser: SystemBrowser {
    private let state = Mutex<(opened: [String], isAbsent: Bool)>(([], false))
    var opened: [String] { state.withLock { $0.opened } }
    func goAway() { state.withLock { $0.isAbsent = true } }
    func open(_ url: String) async throws(NacreError) {
        let isAbsent = state.withLock { state in
            if !state.isAbsent { state.opened.append(url) }
            return state.isAbsent
        }
        if isAbsent { throw NacreError("browser.absent", "Install a web browser.") }
    }
}

/// Links and update holds of one process.
final class FakeLinks: LinkCapture, UpdateHold {
    private struct State {
        var captures: [UInt64: @Sendable (IncomingLink) async -> Bool] = [:]
        var last: UInt64 = 0
        var held: Set<String> = []
    }
    private let state = Mutex(State())
    var captureCount: Int { state.withLock { $0.captures.count } }
    var held: Set<String> { state.withLock { $0.held } }

    func capture(_ handler: @escaping @Sendable (IncomingLink) async -> Bool) async -> LinkCaptureHandle {
        state.withLock { state in
            state.last += 1
            state.captures[state.last] = handler
            return LinkCaptureHandle(id: state.last)
        }
    }
    func release(_ handle: LinkCaptureHandle) async {
        state.withLock { _ = $0.captures.removeValue(forKey: handle.id) }
    }
    func hold(attempt: String) async { state.withLock { _ = $0.held.insert(attempt) } }
    func release(attempt: String) async { state.withLock { _ = $0.held.remove(attempt) } }

    @discardableResult
    func receive(_ url: String) async -> Bool {
        for handler in state.withLock({ Array($0.captures.values) })
        where await handler(IncomingLink(id: "x", url: url)) {
            return true
        }
        return false
    }
}

/// Waits until something is so, a minute at most: a busy machine is slow.
func eventually(_ what: String = "", _ condition: () async -> Bool) async {
    let end = ContinuousClock().now + .seconds(60)
    while ContinuousClock().now < end {
        if await condition() { return }
        await Task.yield()
        try? await Task.sleep(for: .microseconds(250))
    }
    Issue.record("did not happen: \(what)")
}
