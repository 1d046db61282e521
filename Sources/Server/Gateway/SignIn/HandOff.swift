// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP

/// The links back into an app and the page that leads there (HO-4, HO-5).
///
/// The page answers 200: a redirect to the scheme would be the last hop of the login form's chain, which the form's
/// `form-action` policy blocks without a word.
struct HandOff: Sendable {
    /// What the links begin with: `S://`, or the folder of a claimed link (HO-14).
    let base: String
    let flow: String?
    let language: GatewayPage.Language
    let name: String
    let random: any RandomSource

    private func link(_ path: String, _ parameters: [(String, String)]) -> String {
        var query = FormFields()
        for (name, value) in parameters { query.append(name, value) }
        if let flow { query.append("flow", flow) }
        return base + path + (query.pairs.isEmpty ? "" : "?" + query.encoded)
    }

    /// `S://logout`.
    var signedOutLink: String { link("logout", []) }

    /// The page that takes the one-time token to the app.
    func success(token: String) -> HTTPResponse {
        page(
            tone: .done,
            title: language.text("You are signed in", "Vous êtes connecté"),
            text: language.text("Going back to \(name)…", "Retour à \(name)…"),
            label: language.text("Open \(name)", "Ouvrir \(name)"),
            target: link("auth", [("token", token)]),
            note: language.text("You can close this page afterwards.", "Vous pourrez ensuite fermer cette page."))
    }

    /// The page that takes a refusal to the app: `access_denied` or `login_failed`.
    func failure(_ error: String, reason: String) -> HTTPResponse {
        page(
            tone: .problem,
            title: error == "access_denied"
                ? language.text("Sign-in was cancelled", "Connexion annulée")
                : language.text("Sign-in did not work", "La connexion a échoué"),
            text: reason,
            label: language.text("Back to \(name)", "Revenir à \(name)"),
            target: link("auth", [("error", error)]), note: nil)
    }

    /// The page after a sign-out that could not reach the provider.
    func signedOutHere() -> HTTPResponse {
        page(
            tone: .problem,
            title: language.text("Signed out here", "Déconnecté ici"),
            text: language.text(
                "The sign-in service could not be reached, so you may still be signed in there.",
                "Le service de connexion est injoignable ; vous y êtes peut-être encore connecté."),
            label: language.text("Back to \(name)", "Revenir à \(name)"), target: signedOutLink, note: nil)
    }

    private func page(
        tone: GatewayPage.Tone, title: String, text: String, label: String, target: String, note: String?
    ) -> HTTPResponse {
        GatewayPage(
            language: language, tone: tone, title: title, text: text, action: (label, target), note: note,
            leadsByItself: true
        ).response(random: random)
    }
}
