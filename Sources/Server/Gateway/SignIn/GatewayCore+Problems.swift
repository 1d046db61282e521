// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreRouting

extension GatewayCore {
    /// A page for a browser, JSON for anything else.
    func problem(
        _ request: HTTPRequest, _ status: HTTPStatus, code: String, text: String, retry: String? = nil
    ) -> HTTPResponse {
        guard Self.wantsPage(request) else {
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

    /// 429 for a client that begins too many sign-ins or sign-outs; its page's button tries the same again.
    func tooMany(_ request: HTTPRequest, seconds: Int) -> HTTPResponse {
        let language = GatewayPage.Language(request.fields)
        let text = language.text(
            "There were too many attempts from your network. Try again in \(seconds) second\(seconds == 1 ? "" : "s").",
            "Trop de tentatives depuis votre réseau. Réessayez dans \(seconds) seconde\(seconds == 1 ? "" : "s").")
        guard Self.wantsPage(request) else {
            return .failure(.tooManyRequests, code: "rate_limited", message: text)
        }
        return GatewayPage(
            language: language, tone: .problem,
            title: language.text("Please wait a moment", "Un instant, s’il vous plaît"), text: text,
            action: (language.text("Try again", "Réessayer"), request.target)
        ).response(.tooManyRequests, random: parts.random)
    }

    private static func wantsPage(_ request: HTTPRequest) -> Bool {
        request.fields.tokens("Accept").contains { $0.hasPrefix("text/html") }
    }

    static func isOutage(_ error: NacreError) -> Bool {
        let outages = [
            "oidc.unreachable", "oidc.timeout", "oidc.not_json", "oidc.status", "oidc.issuer_mismatch",
            "oidc.discovery", "oidc.userinfo",
        ]
        return outages.contains(error.code.rawValue) || error.code.rawValue.hasPrefix("jwks.")
            || error.code.rawValue.hasPrefix("transport.")
            || error.code.rawValue.hasPrefix("http.")  // guard: outage-http
    }

    static func isStorage(_ error: NacreError) -> Bool { error.code.rawValue.hasPrefix("database.") }

    /// The provider is down, slow, or no provider, or we can store nothing: the app is told, a web page gets a way to try
    /// again.
    func outage(
        _ error: NacreError, _ request: HTTPRequest, _ way: HandOff?, _ returnTo: String
    ) -> HTTPResponse {
        let language = GatewayPage.Language(request.fields)
        if Self.isStorage(error) {
            let text = language.text(
                "The server cannot store anything at the moment. Please try again shortly.",
                "Le serveur ne peut rien enregistrer pour le moment. Réessayez dans un instant.")
            return way?.failure("login_failed", reason: text)
                ?? problem(request, .serviceUnavailable, code: "storage_unavailable", text: text, retry: returnTo)
        }
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
