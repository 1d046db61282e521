// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreDatabase
import NacreHTTP
import NacreRouting
import NacreSessions

extension GatewayCore {
    /// `GET /api/v1.0/logout/` (HO-7): ends the session here, then sends the browser to end the provider's.
    func logout(_ request: HTTPRequest, _ context: RequestContext) async throws -> HTTPResponse {
        if let refusal = try await tooManyDepartures(request, context) { return refusal }
        let wish: SignInRequest
        do { wish = try SignInRequest(query: request.query, kind: .signOut, configuration) } catch {
            return refusal(error, request)
        }
        let cookies = request.fields.values("Cookie")
        let app = wish.scheme.map(appCookies)
        let cookie = app?.cookie(of: wish.handoff) ?? gate.cookie
        var session: Session?
        if let handle = cookie.handle(in: cookies) {
            session =
                app == nil
                ? try await sessions.find(handle: handle) : try await sessions.find(browserHandle: handle)
        }
        if let session { try await sessions.end(session.id) }  // guard: signed-out-though-down
        parts.log.info("sign_out.begun", ["session": JSONValue(session?.id)])
        let state = parts.random.token()
        var response: HTTPResponse
        do {
            let location = try await party.logoutLocation(
                idToken: session?.secrets.idToken, state: state, returnURI: configuration.logoutReturnURI)
            guard let location else {
                throw NacreError("oidc.no_end_session", "The identity provider offers no sign-out.")
            }
            let record = PendingRecord(
                kind: .signOut, scheme: wish.scheme, challenge: nil, flow: wish.flow, returnTo: wish.returnTo)
            response = try await leave(record, state: state, to: location, request)
        } catch let error as NacreError where !error.code.rawValue.hasPrefix("database.") {
            // Signed out here all the same; that the shared session may live on is said.
            parts.log.warning("sign_out.here_only", ["error": .string(error.description)])
            response = signedOutHere(wish, request)
        }
        for removal in app?.removals(of: wish.handoff, carrying: cookies) ?? [cookie.removal] {
            response.fields.append("Set-Cookie", removal)
        }
        return response
    }

    private func signedOutHere(_ wish: SignInRequest, _ request: HTTPRequest) -> HTTPResponse {
        if let scheme = wish.scheme { return handOff(scheme, flow: wish.flow, request).signedOutHere() }
        let language = GatewayPage.Language(request.fields)
        return GatewayPage(
            language: language, tone: .problem, title: language.text("Signed out here", "Déconnecté ici"),
            text: language.text(
                "The sign-in service could not be reached, so you may still be signed in there.",
                "Le service de connexion est injoignable ; vous y êtes peut-être encore connecté."),
            action: (language.text("Continue", "Continuer"), wish.returnTo)
        ).response(random: parts.random)
    }

    /// The return leg: **302** to `S://logout`, or to where the web page wanted to be.
    func logoutReturn(_ request: HTTPRequest, _ context: RequestContext) async throws -> HTTPResponse {
        let query = FormFields(decoding: request.query ?? "") ?? FormFields()
        guard let state = query["state"] else { return .redirect(to: "/") }
        let cookie = roundTrips.cookie(state)
        guard let secret = cookie.handle(in: request.fields.values("Cookie")) else { return .redirect(to: "/") }
        let record = try await pending.take(.signOut, state: state, secret: secret)
        var response: HTTPResponse
        if let record, let scheme = record.scheme {
            response = .redirect(to: handOff(scheme, flow: record.flow, request).signedOutLink)
        } else {
            response = .redirect(to: record?.returnTo ?? "/")
        }
        response.fields.append("Set-Cookie", cookie.removal)
        return response
    }

    /// `POST /api/v1.0/mobile/auth/logout/` (HO-7): the safety net; harmless when the session has ended already.
    func mobileLogout(_ request: HTTPRequest, _ context: RequestContext) async throws -> HTTPResponse {
        var response = HTTPResponse(status: .noContent, fields: ["Cache-Control": "no-store"])
        // Without the cookie nothing is taken away: the request may be another site's form.
        guard let handle = gate.cookie.handle(in: request.fields.values("Cookie")) else { return response }
        if let session = try await sessions.find(handle: handle) {
            guard gate.isMeant(request, by: session) else { return SessionGate.csrfRefusal }  // guard: logout-csrf
            try await sessions.end(session.id)
            parts.log.info("sign_out.done", ["session": .string(session.id)])
        }
        response.fields["Set-Cookie"] = gate.cookie.removal
        return response
    }

    /// `POST /api/v1.0/backchannel-logout/` (HO-7): the provider says that one of its sessions is over.
    func backchannelLogout(_ request: HTTPRequest, _ context: RequestContext) async throws -> HTTPResponse {
        func answer(_ status: HTTPStatus, _ body: JSONValue) -> HTTPResponse { .json(body, status: status) }
        let body = try await request.body.collect(upTo: 64 * 1024)
        guard let form = FormFields(decoding: String(decoding: body, as: UTF8.self)),
            let token = form["logout_token"], form.values("logout_token").count == 1
        else {
            return answer(.badRequest, ["error": "invalid_request", "error_description": "logout_token is missing"])
        }
        let now = parts.time.now
        do {
            let ended = try await obey(try await party.logoutOrder(token, now: now), now: now)
            parts.log.info("sign_out.backchannel", ["ended": JSONValue(ended)])
            return answer(.ok, [:])
        } catch let error as NacreError where Self.isOutage(error) {
            parts.log.error("sign_out.backchannel_unchecked", ["error": .string(error.description)])
            return answer(.serviceUnavailable, ["error": "temporarily_unavailable"])
        } catch let error as NacreError
            where !error.code.rawValue.hasPrefix("database.") || error.code == "database.unique"
        {
            parts.log.warning("sign_out.backchannel_refused", ["error": .string(error.description)])
            return answer(.badRequest, ["error": "invalid_request", "error_description": .string(error.message)])
        }
    }

    /// Ends what a logout token names, a batch of sessions in a transaction. The last one notes the token: one that was
    /// noted but not obeyed could not be sent again.
    private func obey(_ order: LogoutOrder, now: Instant) async throws -> Int {
        let issuer = configuration.oidc.issuer
        let noted = SQLValue.text(order.tokenID)  // guard: logout-replay
        var total = 0
        while true {
            let (ended, isLast) = try await parts.database.write { sql -> ([SessionEnding], Bool) in
                let seen = try sql.first("SELECT token_id FROM gateway_logout_seen WHERE token_id = $1", [noted])
                guard seen == nil else {
                    throw NacreError("logout_token.replayed", "The logout token was obeyed before.")
                }
                var batches: [[SessionEnding]] = []
                if let session = order.providerSession {
                    batches.append(try SessionStore.end(issuer: issuer, providerSession: session, now: now, sql))
                    if let subject = order.subject {
                        batches.append(try SessionStore.endUnnamed(issuer: issuer, subject: subject, now: now, sql))
                    }
                } else if let subject = order.subject {
                    batches.append(
                        try SessionStore.end(
                            issuer: issuer, subject: subject, except: nil, reason: "backchannel", now: now, sql))
                }
                let isLast = batches.allSatisfy { $0.count < SessionStore.sweepBatch }
                if isLast {
                    try sql.execute(
                        "INSERT INTO gateway_logout_seen (token_id, expires_at) VALUES ($1, $2)",
                        [noted, SQLValue(order.expiry)])
                }
                return (batches.flatMap { $0 }, isLast)
            }
            sessions.events.publish(ended)
            total += ended.count
            if isLast { return total }
        }
    }
}
