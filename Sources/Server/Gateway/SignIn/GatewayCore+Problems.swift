// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreRouting

extension GatewayCore {
    /// A page for a browser, JSON for anything else.
    func problem(
        _ request: HTTPRequest, _ status: HTTPStatus, code: String, text: String, retry: String? = nil
    ) -> HTTPResponse {
        guard request.fields.tokens("Accept").contains(where: { $0.hasPrefix("text/html") }) else {
            return .failure(status.isSuccess ? .forbidden : status, code: code, message: text)
        }
        let language = GatewayPage.Language(request.fields)
        let target = retry.map { "/api/v1.0/authenticate/?returnTo=" + PercentEncoding.encode($0) }
        return GatewayPage(
            language: language, tone: .problem,
            title: code == "access_denied"
                ? language.text("Sign-in was cancelled", "Connexion annulée")
                : language.text("Sign-in did not work", "La connexion a échoué"),
            text: text, action: target.map { (language.text("Try again", "Réessayer"), $0) }
        ).response(status, random: parts.random)
    }

    /// 400 for a request that cannot start (HO-1).
    func refusal(_ error: NacreError, _ request: HTTPRequest) -> HTTPResponse {
        problem(request, .badRequest, code: error.code.rawValue, text: error.message)
    }

    /// 400 for a callback that belongs to no sign-in of this browser: foreign, replayed, or older than ten minutes.
    func unknownSignIn(_ request: HTTPRequest) -> HTTPResponse {
        let language = GatewayPage.Language(request.fields)
        return problem(
            request, .badRequest, code: "sign_in.unknown",
            text: language.text(
                "This sign-in has expired, was already used, or was started elsewhere. Start again from the app.",
                "Cette connexion a expiré, a déjà servi ou a été commencée ailleurs. Recommencez depuis l’application."),
            retry: "/")
    }

    static func isOutage(_ error: NacreError) -> Bool {
        let outages = [
            "oidc.unreachable", "oidc.timeout", "oidc.not_json", "oidc.status", "oidc.issuer_mismatch",
            "oidc.discovery", "oidc.userinfo",
        ]
        return outages.contains(error.code.rawValue) || error.code.rawValue.hasPrefix("jwks.")
            || error.code.rawValue.hasPrefix("transport.")
    }

    /// The provider is down, slow, or no provider: the app is told, a web page gets a way to try again.
    func outage(
        _ error: NacreError, _ request: HTTPRequest, _ way: HandOff?, _ returnTo: String
    ) -> HTTPResponse {
        let language = GatewayPage.Language(request.fields)
        let slow = error.code == "oidc.timeout" || error.code == "jwks.timeout"
        let text =
            slow
            ? language.text(
                "The sign-in service takes too long to answer. Please try again in a moment.",
                "Le service de connexion met trop de temps à répondre. Réessayez dans un instant.")
            : language.text(
                "The sign-in service cannot be reached at the moment. Please try again in a moment.",
                "Le service de connexion est injoignable pour le moment. Réessayez dans un instant.")
        if let way { return way.failure("login_failed", reason: text) }
        return problem(
            request, slow ? .gatewayTimeout : .badGateway, code: error.code.rawValue, text: text, retry: returnTo)
    }
}
