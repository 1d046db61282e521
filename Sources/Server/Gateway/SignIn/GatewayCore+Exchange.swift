// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreRouting
import NacreSessions
import NacreWire

extension GatewayCore {
    /// A body larger than this is no exchange.
    private static let maximumExchange = 16 * 1024

    /// `POST /api/v1.0/mobile/auth/exchange/` (HO-6): the one-time token against the session.
    func exchange(_ request: HTTPRequest, _ context: RequestContext) async throws -> HTTPResponse {
        if let seconds = exchanges.wait(for: context.clientAddress) {  // guard: exchange-rate
            var response = HTTPResponse.failure(
                .tooManyRequests, code: "rate_limited",
                message: "Too many attempts from this address; try again in \(seconds) seconds.")
            response.fields["Retry-After"] = String(seconds)
            return response
        }
        let message: ExchangeRequest
        do {
            let type = request.fields["Content-Type"]?.prefix { $0 != ";" }.trimmingSpaces().lowercased()
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
        guard let id = try await tokens.redeem(message.token, verifier: message.codeVerifier),
            let (session, handle) = try await sessions.activate(id, device: Self.device(request))
        else {
            parts.log.notice("exchange.refused", ["client": .string(context.clientAddress)])
            return refused
        }
        var response = HTTPResponse.json(
            ExchangeResponse(csrfToken: CSRFToken.make(secret: session.csrfSecret, random: parts.random)).json)
        response.fields.append("Set-Cookie", gate.cookie.set(handle, age: configuration.sessions.idle))
        parts.log.info("exchange.done", ["session": .string(session.id)])
        return response
    }
}
