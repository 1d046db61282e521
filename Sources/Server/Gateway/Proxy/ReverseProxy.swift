// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreRouting
import NacreSessions

/// Passes requests on to the upstream, both bodies streaming, with the identity of the session in front.
///
/// The time limits of an exchange are the transport's: it sees the bytes.
struct ReverseProxy: Sendable {
    let upstream: UpstreamConfiguration
    let publicOrigin: Origin
    let transport: any HTTPTransport
    let gate: SessionGate
    let identity: IdentityIssuer
    let live: LiveConnections
    let time: any TimeSource
    let random: any RandomSource
    let log: Log

    var cookies: OwnCookies { OwnCookies(session: gate.cookie.name, token: upstream.csrf.cookie) }

    /// Whether this path is the upstream's.
    func serves(_ path: String) -> Bool { upstream.prefixes.contains { path.hasPrefix($0) } }

    func respond(to request: HTTPRequest, context: RequestContext) async throws -> HTTPResponse {
        let path = request.path
        guard ProxyPath.isPlain(path) else {  // guard: proxy-path
            return .failure(.badRequest, code: "path.malformed", message: "The path of this request has dot segments.")
        }
        if let limit = upstream.requestLimit, let length = request.body.length, length > limit { return Self.tooLarge }
        // An upstream that answers it would show the page the identity that we add.
        guard request.method != "TRACE" else {
            return .failure(.methodNotAllowed, code: "method.trace", message: "TRACE is not passed on.")
        }
        let isWebSocket = WebSocketRequest.isUpgrade(request)
        if isWebSocket, let fault = WebSocketRequest.fault(request) { return fault }
        let sender = try await gate.sender(of: request)
        var outgoing = request
        var session: Session?
        var renewals: [String] = []
        if case .session(let found, let cookie) = sender {
            guard gate.isMeant(request, by: found) else { return SessionGate.csrfRefusal }  // guard: proxy-csrf
            session = found
            if let cookie { renewals.append(cookie) }
            if !isWebSocket, let token = tokenCookie(request, found) { renewals.append(token) }
            // A token of ours opens the session: the upstream gets the identity instead.
            if found.presentation != .cookie { outgoing.fields["Authorization"] = nil }  // guard: own-bearer
        } else {
            let isOpen = upstream.anonymousPrefixes.contains { path.hasPrefix($0) }
            guard isOpen else { return gate.refusal(sender) }  // guard: proxy-session
        }
        prepare(&outgoing, context, hasSession: session != nil)
        if let session {
            upstream.csrf.prepare(&outgoing, of: session)
            try await identity.identify(session, to: upstream.audience, in: &outgoing.fields)
        }
        let exchange = Exchange(session: session, client: context.clientAddress, path: path)
        var response =
            isWebSocket ? try await open(outgoing, exchange) : try await forward(outgoing, exchange)
        if !renewals.isEmpty {  // guard: renewed-private
            // A cache in front may store an answer with a cookie, and hand it to everybody (RFC 9111 section 7.3).
            response.fields["Cache-Control"] = "private, no-store"
            response.fields.append("Vary", "Cookie")
        }
        for renewal in renewals { response.fields.append("Set-Cookie", renewal) }
        return response
    }

    /// What is known of a request on its way.
    struct Exchange: Sendable {
        let session: Session?
        let client: String
        let path: String

        /// Who is counted for what stays open.
        var owner: String { session?.id ?? "client \(ClientNetwork.name(of: client))" }
    }

    private func tokenCookie(_ request: HTTPRequest, _ session: Session) -> String? {
        guard session.presentation == .cookie else { return nil }
        return upstream.csrf.cookieField(for: request, session, secure: gate.cookie.secure, random: random)
    }

    private func prepare(_ request: inout HTTPRequest, _ context: RequestContext, hasSession: Bool) {
        request.fields.removeHopByHop()
        request.fields.removeAll(where: ReservedFields.contains)
        request.fields["Cookie"] = cookies.outgoing(request.fields.values("Cookie"), hasSession: hasSession)
        if upstream.preservesHost { request.fields.append("Host", publicOrigin.authority) }
        request.scheme = upstream.origin.scheme
        request.authority = upstream.origin.authority
        request.fields.append("X-Forwarded-For", context.clientAddress)
        request.fields.append("X-Forwarded-Proto", publicOrigin.scheme)
        request.fields.append("X-Forwarded-Host", publicOrigin.authority)
        request.fields.append("X-Request-Id", context.id)
        request.body = BodyLimit.limited(request.body, to: upstream.requestLimit, code: "http.body_too_large")
    }

    // MARK: Plain exchanges

    private func forward(_ request: HTTPRequest, _ exchange: Exchange) async throws -> HTTPResponse {
        do {
            let answer = try await transport.send(request)
            // A 101 that nobody asked for has no place here.
            guard answer.status.rawValue >= 200 else {  // guard: proxy-unasked-upgrade
                throw NacreError("transport.protocol", "The upstream changed the protocol unasked.")
            }
            return try finished(answer, exchange)
        } catch let error as NacreError {
            return failed(error, exchange)
        }
    }

    private func finished(_ answer: HTTPResponse, _ exchange: Exchange) throws(NacreError) -> HTTPResponse {
        var response = cleaned(answer, hasSession: exchange.session != nil)
        if let limit = upstream.responseLimit {
            guard (response.body.length ?? 0) <= limit else {  // guard: response-limit
                throw NacreError("upstream.too_large", "The answer is longer than \(limit) bytes.")
            }
            response.body = BodyLimit.limited(response.body, to: limit, code: "upstream.too_large")
        }
        guard case .stream(let stream, _) = response.body,
            response.fields.mediaType == "text/event-stream"
        else { return response }
        guard let connection = live.begin(owner: exchange.owner, session: exchange.session) else {
            return LiveConnections.refusal
        }
        let events = EventStream(stream, LiveConnectionHolder(connection))
        response.body = .stream(events.stream, length: nil)
        // nginx in front of us would hold small events back.
        if response.fields["X-Accel-Buffering"] == nil { response.fields.append("X-Accel-Buffering", "no") }
        return response
    }

    private func failed(_ error: NacreError, _ exchange: Exchange) -> HTTPResponse {
        log.warning("upstream.failed", ["path": .string(exchange.path), "error": .string(error.description)])
        return Self.answer(to: error)
    }

    // MARK: WebSockets

    private func open(_ request: HTTPRequest, _ exchange: Exchange) async throws -> HTTPResponse {
        guard let connection = live.begin(owner: exchange.owner, session: exchange.session) else {
            return LiveConnections.refusal
        }
        let holder = LiveConnectionHolder(connection)
        var request = request
        request.fields.append("Upgrade", "websocket")
        do {
            let answer = try await transport.send(request)
            guard answer.status == .switchingProtocols, let tunnel = answer.upgrade else {
                return try finished(answer, exchange)
            }
            var response = cleaned(answer, hasSession: exchange.session != nil)
            response.fields.append("Upgrade", "websocket")
            response.body = .none
            response.upgrade = { [log, time, limit = upstream.webSocketIdle] client in
                await Self.carry(client, through: tunnel, holder, idle: limit, time: time, log: log)
            }
            return response
        } catch let error as NacreError {
            return failed(error, exchange)
        }
    }

    /// Until one side leaves, nothing has passed for too long, the session ends, or the server stops.
    private static func carry(
        _ client: any DuplexStream, through tunnel: @escaping @Sendable (any DuplexStream) async throws -> Void,
        _ holder: LiveConnectionHolder, idle: Duration, time: any TimeSource, log: Log
    ) async {
        let watched = WatchedStream(client, time: time)
        let connection = holder.connection
        connection.onClose { [weak connection] in
            let reason = connection?.reason ?? LiveConnections.stopping
            Task { await watched.end(reason) }
        }
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                try? await tunnel(watched)
                return true
            }
            group.addTask {
                do { try await watched.untilIdle(for: idle) } catch { return false }  // guard: websocket-idle
                connection.close(LiveConnections.idle)
                return false
            }
            // Once it is closed for being idle, the tunnel ends by itself.
            while let isOver = await group.next(), !isOver {}
            group.cancelAll()
        }
        // Whoever lets go of it ends it too.
        withExtendedLifetime(holder) { connection.end() }
        log.debug("websocket.closed", ["reason": .string(connection.reason ?? "left")])
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
        // Without a dot there is no dot segment: most paths end here.
        guard decoded.utf8.contains(UInt8(ascii: ".")) else { return true }
        let segments = decoded.utf8.split { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
        return !segments.contains { segment in
            let name = segment.prefix { $0 != UInt8(ascii: ";") }  // guard: proxy-path-parameters
            return name.elementsEqual(".".utf8) || name.elementsEqual("..".utf8)
        }
    }
}
