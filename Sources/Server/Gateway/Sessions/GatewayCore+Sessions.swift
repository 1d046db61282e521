// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreRouting
import NacreSessions

/// A person's own sessions: see them, end them. Identifiers name a session; none of them opens one.
extension GatewayCore {
    func addSessions(_ routes: inout Router.Builder) {
        routes.get("/api/v1.0/sessions/") { request, _ in try await listSessions(request) }
        routes.delete("/api/v1.0/sessions/:id/") { try await endSession($0, $1) }
        routes.post("/api/v1.0/sessions/end-others/") { request, _ in try await endOthers(request) }
        routes.post("/api/v1.0/sessions/end-all/") { request, _ in try await endAll(request) }
    }

    /// `GET /api/v1.0/sessions/`: newest use first.
    private func listSessions(_ request: HTTPRequest) async throws -> HTTPResponse {
        try await withSession(request) { session in
            let all = try await sessions.list(issuer: session.issuer, subject: session.subject)
            return .json(["sessions": .array(all.map { Self.summary($0, isCurrent: $0.id == session.id) })])
        }
    }

    private static func summary(_ session: Session, isCurrent: Bool) -> JSONValue {
        [
            "id": .string(session.id), "current": .bool(isCurrent), "device": JSONValue(session.device),
            "presentation": .string(session.presentation.rawValue), "method": .string(session.method),
            "parent": JSONValue(session.parent), "created_at": .integer(session.createdAt.milliseconds),
            "last_seen_at": .integer(session.lastSeenAt.milliseconds),
            "expires_at": .integer(min(session.idleExpiresAt, session.expiresAt).milliseconds),
        ]
    }

    /// `DELETE /api/v1.0/sessions/{id}/`: one of the person's own, this one too; 404 for every other identifier.
    private func endSession(_ request: HTTPRequest, _ context: RequestContext) async throws -> HTTPResponse {
        try await withSession(request) { session in
            let id = context.parameters["id"] ?? ""
            let isOwn = id == session.id
            let ended = try await sessions.end(
                String(id.prefix(64)), of: session, reason: isOwn ? "signed_out" : "ended_elsewhere")
            guard ended > 0 else {
                return .failure(.notFound, code: "session.unknown", message: "You have no session of that identifier.")
            }
            parts.log.info("session.ended_by_person", ["session": .string(id), "ended": JSONValue(ended)])
            return farewell(.init(status: .noContent, fields: ["Cache-Control": "no-store"]), session, leaves: isOwn)
        }
    }

    /// `POST /api/v1.0/sessions/end-others/`: every session of the person but the one that asks.
    private func endOthers(_ request: HTTPRequest) async throws -> HTTPResponse {
        try await withSession(request) { session in
            let ended = try await sessions.end(
                issuer: session.issuer, subject: session.subject, except: session.id)
            parts.log.info("sessions.ended_others", ["session": .string(session.id), "ended": JSONValue(ended)])
            return .json(["ended": JSONValue(ended)])
        }
    }

    /// `POST /api/v1.0/sessions/end-all/`: sign-out everywhere (SE-5), the one that asks included.
    private func endAll(_ request: HTTPRequest) async throws -> HTTPResponse {
        try await withSession(request) { session in
            let ended = try await sessions.end(
                issuer: session.issuer, subject: session.subject, reason: "ended_everywhere")
            parts.log.info("sessions.ended_all", ["session": .string(session.id), "ended": JSONValue(ended)])
            return farewell(.json(["ended": JSONValue(ended)]), session, leaves: true)
        }
    }

    private func farewell(_ response: HTTPResponse, _ session: Session, leaves: Bool) -> HTTPResponse {
        guard leaves, session.presentation == .cookie else { return response }
        var response = response
        response.fields.append("Set-Cookie", gate.cookie.removal)
        return response
    }
}
