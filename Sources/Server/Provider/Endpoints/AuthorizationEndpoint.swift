// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreJOSE
import NacreLimits
import NacreRouting

/// `/authorize`: answers from the browser's session where that is enough, else with the form (PV-1, PV-2).
struct AuthorizationEndpoint: Sendable {
    let core: ProviderCore

    func get(_ request: HTTPRequest, _ context: RequestContext) async throws -> HTTPResponse {
        try await respond(request, query: request.query ?? "")
    }

    func post(_ request: HTTPRequest, _ context: RequestContext) async throws -> HTTPResponse {
        try await respond(request, query: try await core.form(of: request)?.encoded ?? "")
    }

    private func respond(_ request: HTTPRequest, query: String) async throws -> HTTPResponse {
        guard let fields = FormFields(decoding: query) else {
            return core.pages.refusal(
                core.language(nil, request).text.wrongRequest, core.language(nil, request))
        }
        let language = core.language(fields["ui_locales"], request)
        do {
            let authorization = try AuthorizationRequest(fields, configuration: core.configuration)
            return try await answer(authorization, query: query, request, language)
        } catch let fault as AuthorizationFault {
            return core.refuse(fault, language, status: .found)
        }
    }

    private func answer(
        _ authorization: AuthorizationRequest, query: String, _ request: HTTPRequest, _ language: PageLanguage
    ) async throws -> HTTPResponse {
        let client = JSONValue.string(authorization.answer.client.id)
        let demand = core.configuration.levels.demand(authorization.levels)
        let token = core.cookies.value(core.cookies.session, in: request)
        let session = try await core.liveSession(token)
        let isSilent = authorization.prompts == ["none"]
        if case .unreachable(let level) = demand {
            core.log.notice("authorize.unreachable", ["client": client, "level": .string(level)])
            guard !isSilent else {
                throw AuthorizationFault.redirect(
                    authorization.answer, error: "unmet_authentication_requirements",
                    description: "The level \(level) cannot be reached.")
            }
            return try await form(authorization, query, request, language, session, problem: .unreachable(level: level))
        }
        if let session, await isEnough(session, authorization, demand) {
            if let wait = try await tooManySilent(session) {
                core.log.warning("authorize.throttled", ["client": client])
                return try busy(authorization, wait, language)
            }
            do {
                let location = try await core.issueCode(authorization, session)
                core.log.info("authorize.silent", ["client": client])
                return .redirect(to: location)
            } catch let error as NacreError where error.code == "provider.session_ended" {
                core.log.notice("authorize.session_ended", ["client": client])
            }
        }
        guard !isSilent else {
            throw AuthorizationFault.redirect(
                authorization.answer, error: "login_required", description: "The person must sign in.")
        }
        core.log.info("authorize.form", ["client": client])
        return try await form(authorization, query, request, language, session, problem: nil)
    }

    /// How long to wait when this session has been answered too often; a page that redirects to us in a circle, or somebody
    /// with the cookie, makes a code each time.
    private func tooManySilent(_ session: SSOSession) async throws -> Duration? {
        let limit = Limit("authorize.silent", core.configuration.throttle.silentPerMinute, per: .seconds(60))
        return try await core.limiter.take([limit.of(session.sid)])  // guard: provider-silent-rate
    }

    /// A program that asks in the background is told by its redirect, a person by a page: a redirect could come back at once.
    private func busy(
        _ authorization: AuthorizationRequest, _ wait: Duration, _ language: PageLanguage
    ) throws(AuthorizationFault) -> HTTPResponse {
        guard authorization.prompts != ["none"] else {
            throw AuthorizationFault.redirect(
                authorization.answer, error: "temporarily_unavailable",
                description: "Too many requests; try again in \(wait.retrySeconds) seconds.")
        }
        var response = core.pages.refusal(
            language.text.tooMany((wait.retrySeconds + 59) / 60), language, status: .tooManyRequests)
        response.fields["Retry-After"] = String(wait.retrySeconds)
        return response
    }

    private func isEnough(
        _ session: SSOSession, _ authorization: AuthorizationRequest, _ demand: LevelDemand
    ) async -> Bool {
        guard authorization.prompts.isDisjoint(with: ["login", "select_account"]) else { return false }
        if let age = authorization.maximumAge {
            let isYoung = age > .zero && core.time.now - session.authenticatedAt <= age  // guard: provider-max-age
            guard isYoung else { return false }
        }
        if case .anyOf(let levels) = demand, !levels.contains(session.level) { return false }  // guard: provider-acr
        if let hint = authorization.idTokenHint {
            let claims = await core.claims(ofHint: hint)
            guard claims?.subject == session.subject else { return false }  // guard: provider-hint
        }
        return true
    }

    private func form(
        _ authorization: AuthorizationRequest, _ query: String, _ request: HTTPRequest, _ language: PageLanguage,
        _ session: SSOSession?, problem: LoginForm.Problem?
    ) async throws -> HTTPResponse {
        let (browser, cookie) = core.browser(request)
        var form = LoginForm(
            clientName: authorization.answer.client.name, redirectOrigin: authorization.answer.origin,
            attempt: try core.seal(query, purpose: "login", browser: browser))
        form.username = authorization.loginHint.map { String($0.prefix(254)) } ?? ""
        form.isRepeated = session != nil && !authorization.prompts.contains("select_account")
        if form.isRepeated, form.username.isEmpty, let session {
            form.username = try await core.store.account(subject: session.subject)?.username ?? ""
        }
        form.problem = problem
        var response = core.pages.login(form, language)
        if let cookie { response.fields.append("Set-Cookie", cookie) }
        return response
    }
}

extension ProviderCore {
    func language(_ uiLocales: String?, _ request: HTTPRequest) -> PageLanguage {
        PageLanguage.preferred(uiLocales: uiLocales, fields: request.fields)
    }

    /// The browser's own secret, and the cookie to set where it had none.
    func browser(_ request: HTTPRequest) -> (value: String, cookie: String?) {
        if let value = cookies.value(cookies.browser, in: request) { return (value, nil) }
        let value = random.token()
        return (value, cookies.setting(cookies.browser, value, age: nil))
    }

    /// The session of a cookie, as long as its account is there.
    func liveSession(_ token: String?) async throws -> SSOSession? {
        guard let token, let session = try await store.session(token: token, now: time.now),
            try await store.account(subject: session.subject) != nil
        else { return nil }
        return session
    }

    /// A code for the client, as the address to go to.
    func issueCode(_ authorization: AuthorizationRequest, _ session: SSOSession) async throws -> String {
        let code = random.token()
        let now = time.now
        let grant = ProviderGrant(
            name: random.identifier(), clientID: authorization.answer.client.id, session: session,
            scope: authorization.scope, nonce: authorization.nonce)
        try await store.addCode(
            code, for: grant, redirectURI: authorization.answer.redirectURI, challenge: authorization.challenge,
            expires: now + configuration.lifetimes.code, now: now)
        return authorization.answer.location(["code": code], issuer: issuer)
    }

    func refuse(_ fault: AuthorizationFault, _ language: PageLanguage, status: HTTPStatus) -> HTTPResponse {
        switch fault {
        case .page(let sentence):
            log.notice("authorize.refused")
            return pages.refusal(language.text[keyPath: sentence], language)
        case .redirect(let answer, let error, let description):
            log.notice("authorize.refused", ["client": .string(answer.client.id), "error": .string(error)])
            let location = answer.location(["error": error, "error_description": description], issuer: issuer)
            return .redirect(to: location, status: status)
        }
    }

    /// The claims of an ID token that we issued once, whether or not it has expired.
    func claims(ofHint hint: String) async -> JWTClaims? {
        guard let jws = try? JWS(parsing: hint), let key = try? await keys.all().key(for: jws.header),
            let payload = try? jws.verifiedPayload(with: .publicKey(key)),
            let claims = try? JWTClaims(parsing: payload), areIdentical(claims.issuer, issuer)
        else { return nil }
        return claims
    }
}
