// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacrePorts
import NacreRouting

/// Answers the page's requests to the API host: CORS here, then the interceptors, then the native transport with the
/// session attached (NB-1, NB-3, NB-12, NB-13).
struct APIResponder: HTTPResponder {
    private let policy: PageAccessPolicy
    private let fields: APIFields
    private let authority: any SessionAuthority
    private let transport: any HTTPTransport
    private let interceptors: [any PageInterceptor]
    private let sockets: UpgradeRelay
    private let log: Log

    init(
        policy: PageAccessPolicy, fields: APIFields, authority: any SessionAuthority, transport: any HTTPTransport,
        interceptors: [any PageInterceptor], sockets: UpgradeRelay, log: Log
    ) {
        self.policy = policy
        self.fields = fields
        self.authority = authority
        self.transport = transport
        self.interceptors = interceptors
        self.sockets = sockets
        self.log = log
    }

    func respond(to request: HTTPRequest, context: RequestContext) async throws -> HTTPResponse {
        switch policy.access(to: .api, for: request) {
        case .preflight: return fields.preflight(request)
        case .full: return try await answer(request, readable: request.fields["Origin"] != nil)
        case .media: return try await answer(request, readable: false)
        case .files: return .refusedPage(.foreign, request, log)
        case .refused(let reason): return .refusedPage(reason, request, log)
        }
    }

    private func answer(
        _ request: HTTPRequest, readable: Bool, session: Bool = true
    ) async throws -> HTTPResponse {
        do {
            if request.isWebSocket { return try await upgrade(request, readable: readable) }
            let response = try await pass(fields.upstream(request), session: session, from: 0)
            return fields.toPage(response, readable: readable)
        } catch let error as NacreError {
            log.notice("page.api_failed", ["path": .string(request.path), "code": .string(error.code.rawValue)])
            return fields.toPage(.upstreamFailure(error), readable: readable)
        }
    }

    /// The API's answer to a request that the page's script has handed over, or the failure that stands for it. Who asks
    /// was the bridge's matter, so the table of `Sec-Fetch` is not asked.
    func answerPatched(_ request: HTTPRequest, session: Bool) async throws -> HTTPResponse {
        try await answer(request, readable: false, session: session)
    }

    /// The API's answer to a request of the app itself, for its page's media proxy, a download or a plugin: through the
    /// interceptors, with the session, and without what is the browser's business.
    ///
    /// - Throws: what interceptors, session and transport throw.
    func fetch(_ request: HTTPRequest) async throws -> HTTPResponse {
        fields.toPage(try await pass(fields.upstream(request), session: true, from: 0), readable: false)
    }

    /// The same for a plugin, which looks at the answer itself: every field is there.
    func exchange(_ request: HTTPRequest) async throws -> HTTPResponse {
        try await pass(fields.upstream(request), session: true, from: 0)
    }

    private func pass(_ request: HTTPRequest, session: Bool, from index: Int) async throws -> HTTPResponse {
        guard index < interceptors.count else { return try await send(request, session: session) }
        return try await interceptors[index].intercept(request) {
            try await self.pass($0, session: session, from: index + 1)
        }
    }

    private func send(_ request: HTTPRequest, session: Bool) async throws -> HTTPResponse {
        guard session else { return try await transport.send(request) }  // guard: api-credentials-omit
        let authorized = try await authority.authorize(request)
        let response = try await transport.send(authorized.request)
        await authority.observe(response, to: authorized)
        return response
    }

    // MARK: WebSocket

    private func upgrade(_ request: HTTPRequest, readable: Bool) async throws -> HTTPResponse {
        var outgoing = fields.upstream(request)
        UpgradeRelay.copyHandshake(from: request, to: &outgoing)
        var authorized = try await authority.authorize(outgoing)
        // A server checks who opens a socket by Origin alone, so it always gets the API's own (NB-13).
        authorized.request.fields["Origin"] = "\(outgoing.scheme)://\(outgoing.authority)"
        let response = try await sockets.open(authorized.request)
        await authority.observe(response, to: authorized)
        guard response.status == .switchingProtocols else { return fields.toPage(response, readable: readable) }
        return response
    }
}

extension HTTPRequest {
    /// Whether it asks for a WebSocket (RFC 6455 section 4.1).
    var isWebSocket: Bool { method == .get && fields.tokens("Upgrade").contains("websocket") }
}

extension HTTPResponse {
    /// The answer to a request that the access table refuses.
    static func refusedPage(_ reason: PageRefusal, _ request: HTTPRequest, _ log: Log) -> HTTPResponse {
        log.notice(
            "page.refused",
            [
                "reason": .string(reason.rawValue), "host": .string(request.authority), "path": .string(request.path),
                "method": .string(request.method.rawValue), "site": JSONValue(request.fields["Sec-Fetch-Site"]),
                "destination": JSONValue(request.fields["Sec-Fetch-Dest"]),
            ])
        var response = HTTPResponse.failure(
            .forbidden, code: "page.refused", message: "This part of the page may not use this address.")
        response.fields["X-Nacre-Reason"] = reason.rawValue
        return response
    }

    /// The answer when the upstream could not be had: 504 for time, 503 while the session cannot be had, 502 else.
    static func upstreamFailure(_ error: NacreError) -> HTTPResponse {
        let code = error.code.rawValue
        let status: HTTPStatus =
            if code == "transport.timeout" {
                .gatewayTimeout
            } else if code.hasPrefix("session.") || code.hasPrefix("secrets.") {
                .serviceUnavailable
            } else if code == "http.body_too_large" {
                .contentTooLarge
            } else {
                .badGateway
            }
        var response = HTTPResponse.failure(status, code: code, message: error.message)
        response.fields["X-Nacre-Reason"] = code
        // Which fault of the certificate it was, so that a page can say it in its own words.
        if let fault = CertificateFault(error) { response.fields["X-Nacre-Detail"] = fault.rawValue }
        return response
    }
}
