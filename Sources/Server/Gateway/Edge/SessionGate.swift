// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreRouting
import NacreSessions
import NacreWire

/// Who sends a request, and whether a request that changes something was meant by them.
struct SessionGate: Sendable {
    /// Who sends a request.
    enum Sender: Sendable {
        /// A session, and the cookie field that slides its window, where it is time.
        case session(Session, cookie: String?)
        /// No session was presented, or none that is known.
        case nobody(presented: Bool)
        /// The presented session has just ended.
        case ended(reason: String)
        /// A bearer token that is worth nothing, or nothing any more.
        case badToken
    }

    let keeper: SessionKeeper
    let cookie: SessionCookie
    let window: Duration
    let origins: [Origin]
    var csrf = CSRFStyle.gateway
    /// Where clients may present tokens. Without it `Authorization` is none of our business.
    var tokens: SessionTokens?
    private let checks = SharedChecks()

    init(
        keeper: SessionKeeper, cookie: SessionCookie, window: Duration, origins: [Origin],
        csrf: CSRFStyle = .gateway, tokens: SessionTokens? = nil
    ) {
        (self.keeper, self.cookie, self.window, self.origins) = (keeper, cookie, window, origins)
        (self.csrf, self.tokens) = (csrf, tokens)
    }

    func sender(of request: HTTPRequest) async throws -> Sender {
        if let tokens, let text = Self.bearer(request) {
            let check = try await checks.check("Bearer " + text) { try await tokens.check(bearer: text) }
            guard case .valid(let session, _) = check else { return .badToken }
            return .session(session, cookie: nil)
        }
        guard let handle = cookie.handle(in: request.fields.values("Cookie")) else {
            return .nobody(presented: false)
        }
        switch try await checks.check(handle, { try await keeper.check(handle) }) {
        case .valid(let session, let renewsCookie):
            return .session(session, cookie: renewsCookie ? cookie.set(handle, age: age(of: session)) : nil)
        case .absent: return .nobody(presented: true)
        case .ended(let reason): return .ended(reason: reason)
        }
    }

    /// The cookie never outlives its session: a cookie that is still there then says that the session was ended elsewhere.
    func age(of session: Session) -> Duration { min(window, session.expiresAt - keeper.time.now) }

    /// The text after `Bearer` (RFC 6750 section 2.1), empty when there are several.
    static func bearer(_ request: HTTPRequest) -> String? {
        let texts = request.fields.values("Authorization").compactMap { value -> String? in
            let halves = value.parts(at: " ", most: 2, keepingEmpty: true)
            return halves.count == 2 && equalNames(halves[0], "bearer") ? halves[1].trimmingSpaces() : nil
        }
        return texts.count > 1 ? "" : texts.first
    }

    /// Whether a request with this session's cookie was written by a page that may: it carries the session's CSRF token,
    /// or the browser says that it comes from exactly one of our origins. Reading is always allowed; opening a WebSocket is
    /// no mere reading, although it is a GET: any page may open one, and browsers send our cookie with it.
    func isMeant(_ request: HTTPRequest, by session: Session) -> Bool {
        // No browser sends a bearer token by itself: who wrote the request has it.
        guard session.presentation == .cookie else { return true }  // guard: csrf-bearer
        // guard: csrf-websocket
        guard request.method.isUnsafe || WebSocketRequest.isUpgrade(request) else { return true }
        for name in csrf.fields {
            let tokens = request.fields.values(name)
            // guard: csrf-token
            if tokens.count == 1, CSRFToken.isValid(tokens[0], secret: session.csrfSecret) { return true }
        }
        let stated = request.fields.values("Origin")
        return stated.count == 1 && origins.contains { $0.description == stated[0] }  // guard: csrf-origin
    }

    /// The answer to a request without a session (SE-4).
    ///
    /// It takes away only a cookie that came along: a form of another site comes without the cookie (SameSite=Lax), and
    /// an answer that removed it all the same would sign the person out.
    func refusal(_ sender: Sender) -> HTTPResponse {
        var response: HTTPResponse
        if case .badToken = sender {
            response = .failure(
                .unauthorized, code: "token_not_valid", message: "This token is not valid or has expired.")
            response.fields["WWW-Authenticate"] = "Bearer error=\"invalid_token\""
            return response
        }
        if case .ended(let reason) = sender {
            response = .failure(
                .unauthorized, code: SessionRefusal.ended,
                message: "Your session has ended (\(reason)); sign in again.")
        } else {
            response = .failure(
                .unauthorized, code: SessionRefusal.absent, message: "You are not signed in; sign in first.")
        }
        if case .nobody(presented: false) = sender { return response }  // guard: refusal-foreign-form
        response.fields.append("Set-Cookie", cookie.removal)
        return response
    }

    static var csrfRefusal: HTTPResponse {
        .failure(
            .forbidden, code: "csrf.failed",
            message: "This request carries neither the session's X-CSRFToken nor the Origin of this site; "
                + "get a token from /api/v1.0/csrf/.")
    }
}
