// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreLimits
import NacreRouting
import NacreSessions

extension GatewayCore {
    /// The cookies of the browsers that are between us and the provider.
    var roundTrips: RoundTripCookies { RoundTripCookies(secure: gate.cookie.secure) }

    /// The cookies that let a system browser sign out what it has handed to the app of this scheme, and nothing else.
    func appCookies(_ scheme: String) -> AppCookies { AppCookies(scheme: scheme, secure: gate.cookie.secure) }

    func handOff(_ scheme: String, flow: String?, _ request: HTTPRequest) -> HandOff {
        HandOff(
            base: configuration.claimedLinks.base(scheme, request.fields), flow: flow,
            language: .init(request.fields), name: configuration.name, random: parts.random)
    }

    /// `GET /api/v1.0/authenticate/` (HO-1): sends the browser to the provider and remembers what it left for.
    func authenticate(_ request: HTTPRequest, _ context: RequestContext) async throws -> HTTPResponse {
        if let refusal = try await tooManyDepartures(request, context) { return refusal }
        let wish: SignInRequest
        do { wish = try SignInRequest(query: request.query, kind: .signIn, configuration) } catch {
            return refusal(error, request)
        }
        let state = parts.random.token()
        do {
            let departure = try await party.departure(state: state, prompt: wish.prompt)
            var record = PendingRecord(
                kind: .signIn, scheme: wish.scheme, challenge: wish.challenge, flow: wish.flow, returnTo: wish.returnTo)
            (record.nonce, record.verifier) = (departure.nonce, departure.verifier)
            return try await leave(record, state: state, to: departure.location, request)
        } catch let error as NacreError {
            parts.log.error("sign_in.cannot_start", ["error": .string(error.description)])
            return outage(error, request, wish.scheme.map { handOff($0, flow: wish.flow, request) }, wish.returnTo)
        }
    }

    /// Remembers the round trip and sends the browser on it.
    func leave(
        _ record: PendingRecord, state: String, to location: String, _ request: HTTPRequest
    ) async throws -> HTTPResponse {
        let secret = try await pending.add(record, state: state)
        var response = HTTPResponse.redirect(to: location)
        for cookie in roundTrips.begin(state, secret: secret, carrying: request.fields.values("Cookie")) {
            response.fields.append("Set-Cookie", cookie)
        }
        return response
    }

    /// 429 for a client that begins round trips without end: each of them is stored for ten minutes.
    func tooManyDepartures(_ request: HTTPRequest, _ context: RequestContext) async throws -> HTTPResponse? {
        let wait = try await limiter.take([limits.departures.of(network(context))])
        guard let seconds = wait?.retrySeconds else { return nil }  // guard: departure-rate
        var response = tooMany(request, seconds: seconds)
        response.fields["Retry-After"] = String(seconds)
        return response
    }

    /// `GET /api/v1.0/callback/` (HO-2 … HO-5): the browser comes back from the provider.
    func callback(_ request: HTTPRequest, _ context: RequestContext) async throws -> HTTPResponse {
        let query = FormFields(decoding: request.query ?? "") ?? FormFields()
        guard let state = query["state"], query.values("state").count == 1 else { return unknownSignIn(request) }
        let cookie = roundTrips.cookie(state)
        guard let secret = cookie.handle(in: request.fields.values("Cookie")) else { return unknownSignIn(request) }
        let record = try await pending.take(.signIn, state: state, secret: secret)
        var response: HTTPResponse
        if let record {
            response = try await arrive(record, query, request)
        } else {
            parts.log.notice("sign_in.unknown_state", ["request": .string(context.id)])
            response = unknownSignIn(request)
        }
        // Used up, whatever came of it; the cookies of other round trips stay as they are.
        response.fields.append("Set-Cookie", cookie.removal)
        return response
    }

    private func arrive(
        _ record: PendingRecord, _ query: FormFields, _ request: HTTPRequest
    ) async throws -> HTTPResponse {
        let way = record.scheme.map { handOff($0, flow: record.flow, request) }
        let language = GatewayPage.Language(request.fields)
        do {
            // RFC 6749 section 3.1: of two, a careless reader takes the other one.
            for name in ["code", "iss", "error"] where query.values(name).count > 1 {  // guard: response-twice
                throw NacreError("oidc.response", "The identity provider's answer has \(name) twice.")
            }
            guard try await party.accepts(responseIssuer: query["iss"]) else {
                throw NacreError("oidc.response_issuer", "The answer names another identity provider.")
            }
            if let error = query["error"] {
                parts.log.notice("sign_in.refused", ["error": .string(String(error.prefix(60)))])
                return refused(error, way, request, record)
            }
            guard let code = query["code"], !code.isEmpty else {
                throw NacreError("oidc.response", "The identity provider's answer has no code.")
            }
            let person = try await party.arrival(code: code, nonce: record.nonce, verifier: record.verifier)
            if let way, let scheme = record.scheme, let challenge = record.challenge {
                return try await handOver(person, way, scheme: scheme, challenge: challenge, record.flow, request)
            }
            return try await signInHere(person, record, request)
        } catch let error as NacreError {
            parts.log.error("sign_in.failed", ["error": .string(error.description)])
            if Self.isOutage(error) || Self.isStorage(error) {
                return outage(error, request, way, record.returnTo ?? "/")
            }
            let reason = language.text(
                "The sign-in service's answer could not be accepted. Please try again.",
                "La réponse du service de connexion n’a pas pu être acceptée. Veuillez réessayer.")
            return way?.failure("login_failed", reason: reason)
                ?? problem(request, .badGateway, code: "login_failed", text: reason, retry: record.returnTo)
        }
    }

    /// The app's session waits without a handle; the page takes the one-time token to the app.
    private func handOver(
        _ person: Authentication, _ way: HandOff, scheme: String, challenge: String, _ flow: String?,
        _ request: HTTPRequest
    ) async throws -> HTTPResponse {
        let (session, browserHandle) = try await sessions.beginWaiting(
            person, device: Self.device(request), lifetime: configuration.tokenLifetime + .seconds(5))
        let token = try await tokens.issue(session: session.id, challenge: challenge)
        var response = way.success(token: token)
        let carried = request.fields.values("Cookie")
        for cookie in appCookies(scheme).set(
            browserHandle, flow: flow, age: configuration.sessions.idle, carrying: carried)
        {
            response.fields.append("Set-Cookie", cookie)
        }
        parts.log.info("sign_in.handed_off", ["session": .string(session.id), "scheme": .string(scheme)])
        return response
    }

    private func signInHere(
        _ person: Authentication, _ record: PendingRecord, _ request: HTTPRequest
    ) async throws -> HTTPResponse {
        let old = gate.cookie.handle(in: request.fields.values("Cookie"))
        let (session, handle) = try await sessions.begin(person, device: Self.device(request), replacing: old)
        var response = HTTPResponse.redirect(to: record.returnTo ?? "/")
        response.fields.append("Set-Cookie", gate.cookie.set(handle, age: gate.age(of: session)))
        parts.log.info("sign_in.done", ["session": .string(session.id)])
        return response
    }

    private func refused(
        _ error: String, _ way: HandOff?, _ request: HTTPRequest, _ record: PendingRecord
    ) -> HTTPResponse {
        let language = GatewayPage.Language(request.fields)
        let cancelled = error == "access_denied"
        let reason =
            cancelled
            ? language.text("Nothing was changed.", "Rien n’a été modifié.")
            : language.text(
                "The sign-in service refused. Please try again.",
                "Le service de connexion a refusé. Veuillez réessayer.")
        if let way { return way.failure(cancelled ? "access_denied" : "login_failed", reason: reason) }
        return problem(
            request, cancelled ? .ok : .badGateway, code: cancelled ? "access_denied" : "login_failed", text: reason,
            retry: record.returnTo)
    }

    /// The name under which a session stands in the list of sessions: the one the client gives, or that of its program.
    static func device(_ request: HTTPRequest, named name: String? = nil) -> String? {
        DeviceName.cleaned(name) ?? DeviceName.cleaned(request.fields["User-Agent"])
    }
}
