// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreLimits
import NacreRouting
import NacreSessions
import NacreWire

extension GatewayCore {
    /// A body larger than this is no exchange.
    private static let maximumExchange = 16 * 1024

    /// `POST /api/v1.0/mobile/auth/exchange/` (HO-6): the one-time token against the session.
    func exchange(_ request: HTTPRequest, _ context: RequestContext) async throws -> HTTPResponse {
        let wait = try await limiter.take([limits.exchanges.of(network(context))])
        if let wait { return Self.tooMany(wait) }  // guard: exchange-rate
        let message: ExchangeRequest
        do {
            let type = request.fields.mediaType
            // A form of another site can send text, but no JSON without asking first.
            guard type == "application/json" else {  // guard: exchange-type
                throw NacreError("exchange.malformed", "The exchange is a JSON object.")
            }
            // guard: exchange-size
            message = try ExchangeRequest(body: try await request.body.collect(upTo: Self.maximumExchange))
        } catch let error as NacreError where error.code != "http.body_too_large" {
            return .failure(
                .badRequest, code: "exchange.malformed",
                message: "The exchange takes a JSON object with the strings token and code_verifier.")
        }
        let refused = HTTPResponse.failure(
            .forbidden, code: "exchange.refused", message: "This sign-in is no longer valid; sign in again.")
        // Before the token is spent: a wish that cannot be met is no attack.
        guard let presentation = presentation(message.presentation) else { return Self.unknownPresentation }
        let device = Self.device(request, named: message.device)
        guard let id = try await tokens.redeem(message.token, verifier: message.codeVerifier) else {
            parts.log.notice("exchange.refused", ["client": .string(context.clientAddress)])
            return refused
        }
        if presentation != .cookie {
            guard let issued = try await sessionTokens.issue(presentation, from: .waiting(id), device: device) else {
                return refused
            }
            parts.log.info("exchange.done", ["session": .string(issued.session.id)])
            return Self.answer(issued)
        }
        guard let (session, handle) = try await sessions.activate(id, device: device) else {
            parts.log.notice("exchange.refused", ["client": .string(context.clientAddress)])
            return refused
        }
        var response = HTTPResponse.json(
            ExchangeResponse(csrfToken: CSRFToken.make(secret: session.csrfSecret, random: parts.random)).json)
        response.fields.append("Set-Cookie", gate.cookie.set(handle, age: gate.age(of: session)))
        parts.log.info("exchange.done", ["session": .string(session.id)])
        return response
    }
}
