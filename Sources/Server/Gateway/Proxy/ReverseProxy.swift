// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreRouting
import NacreSessions

/// Passes requests on to the upstream, both bodies streaming, with the identity of the session in front.
struct ReverseProxy: Sendable {
    let upstream: UpstreamConfiguration
    let publicOrigin: Origin
    let transport: any HTTPTransport
    let gate: SessionGate
    let identity: IdentityIssuer
    let time: any TimeSource
    let log: Log

    /// Whether this path is the upstream's.
    func serves(_ path: String) -> Bool { upstream.prefixes.contains { path.hasPrefix($0) } }

    func respond(to request: HTTPRequest, context: RequestContext) async throws -> HTTPResponse {
        guard ProxyPath.isPlain(request.path) else {  // guard: proxy-path
            return .failure(.badRequest, code: "path.malformed", message: "The path of this request has dot segments.")
        }
        guard request.fields.tokens("Upgrade").isEmpty else {
            return .failure(
                HTTPStatus(rawValue: 501), code: "upgrade.unsupported",
                message: "This gateway does not pass WebSockets on yet; use server-sent events.")
        }
        let sender = try await gate.sender(of: request)
        var outgoing = request
        prepare(&outgoing, context)
        var renewal: String?
        if case .session(let session, let cookie) = sender {
            guard gate.isMeant(request, by: session) else { return SessionGate.csrfRefusal }  // guard: proxy-csrf
            renewal = cookie
            // A token of ours opens the session: the upstream gets the identity instead.
            if session.presentation != .cookie { outgoing.fields["Authorization"] = nil }  // guard: own-bearer
            try identity.identify(session, to: upstream.audience, in: &outgoing.fields)
        } else {
            let isOpen = upstream.anonymousPrefixes.contains { request.path.hasPrefix($0) }
            guard isOpen else { return gate.refusal(sender) }  // guard: proxy-session
        }
        var response = try await forward(outgoing)
        if let renewal { response.fields.append("Set-Cookie", renewal) }
        return response
    }

    private func prepare(_ request: inout HTTPRequest, _ context: RequestContext) {
        request.fields.removeHopByHop()
        request.fields.removeAll(where: IdentityIssuer.isOurs)
        let cookies = CookieFields.text(request.fields.values("Cookie"), without: Self.isOurCookie)
        request.fields["Cookie"] = cookies
        request.fields["X-CSRFToken"] = nil
        request.scheme = upstream.origin.scheme
        request.authority = upstream.origin.authority
        request.fields["X-Forwarded-For"] = context.clientAddress
        request.fields["X-Forwarded-Proto"] = publicOrigin.scheme
        request.fields["X-Forwarded-Host"] = publicOrigin.authority
        request.fields["X-Request-Id"] = context.id
    }

    /// Our cookies open sessions: the upstream neither sees nor sets them.
    static func isOurCookie(_ name: String) -> Bool {
        // guard: own-cookies
        name == "sessionid" || name.hasPrefix("nacre_") || name.hasPrefix("__Host-nacre_")
    }

    private func forward(_ request: HTTPRequest) async throws -> HTTPResponse {
        do {
            return cleaned(try await head(request))
        } catch let error as NacreError {
            log.warning("upstream.failed", ["path": .string(request.path), "error": .string(error.description)])
            return Self.answer(to: error)
        }
    }

    /// Waits for the head of the answer, for a time that counts from the end of the upload.
    private func head(_ request: HTTPRequest) async throws -> HTTPResponse {
        let clock = UpstreamClock(time: time)
        var request = request
        request.body = clock.watching(request.body)
        return try await withThrowingTaskGroup(of: HTTPResponse.self) { [request] group in
            group.addTask { try await transport.send(request) }
            group.addTask {
                try await clock.wait(for: upstream.timeLimit)
                throw NacreError("upstream.timeout", "The application takes too long to answer.")
            }
            defer { group.cancelAll() }
            guard let response = try await group.next() else { throw CancellationError() }
            return response
        }
    }

    private func cleaned(_ upstream: HTTPResponse) -> HTTPResponse {
        var response = upstream
        response.fields.removeHopByHop()
        response.fields.removeAll { $0.hasPrefix("x-nacre-") }
        let cookies = response.fields.values("Set-Cookie").filter { cookie in
            !Self.isOurCookie(cookie.prefix { $0 != "=" }.trimmingSpaces())
        }
        response.fields["Set-Cookie"] = nil
        for cookie in cookies { response.fields.append("Set-Cookie", cookie) }
        // A 101 that nobody asked for has no place here.
        response.upgrade = nil
        return response
    }

    private static func answer(to error: NacreError) -> HTTPResponse {
        switch error.code.rawValue {
        case "upstream.timeout", "transport.timeout":
            .failure(
                .gatewayTimeout, code: "upstream.timeout",
                message: "The application behind this gateway takes too long to answer; try again shortly.")
        case "transport.unreachable":
            .failure(
                .badGateway, code: "upstream.unreachable",
                message: "The application behind this gateway cannot be reached; try again shortly.")
        case "transport.tls":
            .failure(
                .badGateway, code: "upstream.tls",
                message: "The application behind this gateway has no valid certificate.")
        case "http.body_too_large":
            .failure(.contentTooLarge, code: "body_too_large", message: "The body of this request is too large.")
        default:
            .failure(
                .badGateway, code: "upstream.protocol",
                message: "The application behind this gateway gave no valid answer; try again shortly.")
        }
    }
}

/// Paths that mean the same to us and to whatever stands behind us.
enum ProxyPath {
    /// Whether the path has no dot segments, also not after decoding, so that a prefix cannot be left again. What follows a
    /// semicolon in a segment does not count: some upstreams (servlets) cut it off before they resolve the dots.
    static func isPlain(_ path: String) -> Bool {
        guard path.hasPrefix("/"), let decoded = PercentEncoding.decode(path), !decoded.utf8.contains(0) else {
            return false
        }
        let segments = decoded.utf8.split { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
        return !segments.contains { segment in
            let name = segment.prefix { $0 != UInt8(ascii: ";") }  // guard: proxy-path-parameters
            return name.elementsEqual(".".utf8) || name.elementsEqual("..".utf8)
        }
    }
}
