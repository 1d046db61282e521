// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreJOSE
import NacreRouting

/// `/logout`: RP-initiated logout 1.0. With an ID token of the person who is signed in here it asks nothing; without
/// one it asks, because any page can send a browser here.
struct LogoutEndpoint: Sendable {
    let core: ProviderCore

    /// A request that may be served.
    private struct Request {
        var redirect: AuthorizationAnswer?
        var hint: JWTClaims?
    }

    func get(_ request: HTTPRequest, _ context: RequestContext) async throws -> HTTPResponse {
        try await respond(request, FormFields(decoding: request.query ?? ""), status: .found)
    }

    func post(_ request: HTTPRequest, _ context: RequestContext) async throws -> HTTPResponse {
        try await respond(request, try await core.form(of: request), status: .seeOther)
    }

    private func respond(
        _ request: HTTPRequest, _ fields: FormFields?, status: HTTPStatus
    ) async throws -> HTTPResponse {
        let language = core.language(fields?["ui_locales"], request)
        guard let fields, let logout = await judged(fields) else {
            core.log.notice("logout.refused")
            return core.pages.refusal(language.text.wrongLogout, language)
        }
        let token = core.cookies.value(core.cookies.session, in: request)
        let session = try await core.liveSession(token)
        if let hint = logout.hint {
            // The client's own session of this person ends, whether or not this browser still has the cookie.
            if let sid = hint.sessionID { try await core.endSession(sid) }
            if session == nil || session?.subject == hint.subject {  // guard: provider-logout-hint
                return try await done(session, logout, language, status)
            }
            // Somebody else has signed in here since: theirs is not ended, and whoever leaves need not be asked about it.
            if let redirect = logout.redirect {
                core.log.info("logout.other")
                return .redirect(to: redirect.returnAddress, status: status)
            }
        } else if session == nil {
            return try await done(nil, logout, language, status)
        }
        return try question(request, logout, language)
    }

    /// The request, or nil when an address or a client does not fit.
    private func judged(_ fields: FormFields) async -> Request? {
        var result = Request()
        var client = fields["client_id"].flatMap { core.configuration.client($0) }
        if fields["client_id"] != nil, client == nil { return nil }
        if let hint = fields["id_token_hint"] {
            guard let claims = await core.claims(ofHint: hint), let owner = claims.audience.first,
                client == nil || client?.id == owner
            else { return nil }
            result.hint = claims
            client = core.configuration.client(owner)
        }
        if let address = fields["post_logout_redirect_uri"] {
            guard let client else { return nil }
            // guard: provider-logout-redirect
            let isRegistered = client.postLogoutRedirectURIs.contains { areIdentical($0, address) }
            guard isRegistered else { return nil }
            result.redirect = AuthorizationAnswer(client: client, redirectURI: address, state: fields["state"])
        }
        return result
    }

    private func done(
        _ session: SSOSession?, _ logout: Request, _ language: PageLanguage, _ status: HTTPStatus
    ) async throws -> HTTPResponse {
        if let session { try await core.endSession(session.sid) }
        core.log.info("logout.done")
        return leave(logout.redirect, language, status)
    }

    private func leave(
        _ redirect: AuthorizationAnswer?, _ language: PageLanguage, _ status: HTTPStatus
    ) -> HTTPResponse {
        var response: HTTPResponse
        if let redirect {
            response = .redirect(to: redirect.returnAddress, status: status)
        } else {
            response = core.pages.message(
                title: language.text.signedOutTitle, language.text.signedOutText, language)
        }
        response.fields.append("Set-Cookie", core.cookies.setting(core.cookies.session, "", age: .zero))
        return response
    }

    private func question(
        _ request: HTTPRequest, _ logout: Request, _ language: PageLanguage
    ) throws -> HTTPResponse {
        let (browser, cookie) = core.browser(request)
        var fields = FormFields()
        if let redirect = logout.redirect {
            fields.append("client_id", redirect.client.id)
            fields.append("post_logout_redirect_uri", redirect.redirectURI)
            if let state = redirect.state { fields.append("state", state) }
        }
        fields.append("ui_locales", language.rawValue)
        let attempt = try core.seal(fields.encoded, purpose: "logout", browser: browser)
        var response = core.pages.signOutQuestion(
            attempt: attempt, redirectOrigin: logout.redirect?.origin, language)
        if let cookie { response.fields.append("Set-Cookie", cookie) }
        return response
    }

    /// `POST /logout/confirm`: the answer to the question.
    func confirm(_ request: HTTPRequest, _ context: RequestContext) async throws -> HTTPResponse {
        let browser = core.cookies.value(core.cookies.browser, in: request)
        let form = try await core.form(of: request)
        guard let form, let query = core.open(form["attempt"], purpose: "logout", browser: browser),
            let fields = FormFields(decoding: query), let logout = await judged(fields)
        else {
            let language = core.language(nil, request)
            return core.pages.refusal(language.text.staleForm, language)
        }
        let language = core.language(fields["ui_locales"], request)
        guard form["action"] != "cancel" else {
            return core.pages.message(
                title: language.text.stillSignedInTitle, language.text.stillSignedInText, language)
        }
        let session = try await core.liveSession(core.cookies.value(core.cookies.session, in: request))
        return try await done(session, logout, language, .seeOther)
    }
}

extension AuthorizationAnswer {
    /// Where a sign-out leads back to.
    fileprivate var returnAddress: String {
        guard let state else { return redirectURI }
        return redirectURI + (redirectURI.contains("?") ? "&state=" : "?state=") + PercentEncoding.encode(state)
    }
}
