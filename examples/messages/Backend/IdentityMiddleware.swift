// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreRouting

/// Lets only requests through that carry a valid identity, and hands the identity on in the context.
struct IdentityMiddleware: Middleware {
    static let field = "X-Nacre-Identity"

    enum Key: RequestContext.Key {
        typealias Value = Identity
    }

    let verifier: any IdentityVerifier
    let log: Log

    func respond(
        to request: HTTPRequest, context: RequestContext, next: any HTTPResponder
    ) async throws -> HTTPResponse {
        let tokens = request.fields.values(Self.field)
        // Two tokens: somebody before the gateway added one, and it is not for us to choose.
        guard tokens.count == 1 else { return Self.refusal }  // guard: one-identity
        let identity: Identity
        do {
            identity = try await verifier.identity(of: tokens[0])
        } catch let error as NacreError where error.code.rawValue.hasPrefix("identity.") {
            log.notice("identity.refused", ["reason": .string(error.code.rawValue)])
            return Self.refusal
        } catch let error as NacreError {
            // The keys could not be had: the person may well be signed in, so this must not look like an expiry.
            log.error("identity.unchecked", ["reason": .string(error.description)])
            return .failure(
                .serviceUnavailable, code: "identity_unchecked",
                message: "The gateway's keys cannot be read at the moment; try again shortly.")
        }
        var context = context
        context[Key.self] = identity
        return try await next.respond(to: request, context: context)
    }

    private static var refusal: HTTPResponse {
        .failure(
            .unauthorized, code: "identity_required",
            message: "This backend answers only requests that come through its gateway with a signed-in person.")
    }
}
