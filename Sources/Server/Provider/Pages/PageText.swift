// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreHTTP

/// The languages of the pages.
enum PageLanguage: String, CaseIterable, Sendable {
    case english = "en"
    case french = "fr"

    /// The first of `ui_locales` that there is, else the best of `Accept-Language`, else English.
    static func preferred(uiLocales: String?, fields: HTTPFields) -> PageLanguage {
        for tag in (uiLocales ?? "").parts(at: " ") {
            if let language = PageLanguage(tag: tag) { return language }
        }
        var best: (language: PageLanguage, quality: Double)?
        for range in fields.tokens("Accept-Language").prefix(32) {
            let parts = range.parts(at: ";")
            guard let tag = parts.first, let language = PageLanguage(tag: tag.trimmingSpaces()) else { continue }
            let quality =
                parts.dropFirst().first { $0.trimmingSpaces().hasPrefix("q=") }
                .flatMap { Double($0.trimmingSpaces().dropFirst(2)) } ?? 1
            if quality > (best?.quality ?? 0) { best = (language, quality) }
        }
        return best?.language ?? .english
    }

    /// The language of a tag such as `fr-CA`.
    private init?(tag: some StringProtocol) {
        self.init(rawValue: tag.asciiLowercased.parts(at: "-").first.map(String.init) ?? "")
    }

    var text: PageText {
        switch self {
        case .english: .english
        case .french: .french
        }
    }
}

/// What the pages say.
struct PageText: Sendable {
    let signIn: String
    let toContinueTo: String
    let signInAgain: String
    let username: String
    let password: String
    let remember: String
    let rememberHint: String
    let cancel: String
    let error: String
    let wrong: String
    let tooMany: @Sendable (_ minutes: Int) -> String
    let developmentBanner: String
    let developmentUsers: String
    let unreachable: @Sendable (_ level: String) -> String
    let backToApp: String
    let signOutTitle: String
    let signOutQuestion: String
    let signOut: String
    let stay: String
    let signedOutTitle: String
    let signedOutText: String
    let stillSignedInTitle: String
    let stillSignedInText: String
    let refusedTitle: String
    let unknownClient: String
    let wrongRedirect: String
    let wrongRequest: String
    let staleForm: String
    let wrongLogout: String
}

extension PageText {
    static let english = PageText(
        signIn: "Sign in", toContinueTo: "to continue to",
        signInAgain: "Please enter your password again.",
        username: "User name or mail address", password: "Password", remember: "Remember me",
        rememberHint: "Without this, other apps will ask you to sign in again.", cancel: "Cancel", error: "Error",
        wrong: "The user name or the password is not right. Please check both.",
        tooMany: { minutes in
            minutes == 1
                ? "Too many tries. Please wait a minute." : "Too many tries. Please wait \(minutes) minutes."
        },
        developmentBanner: "Development provider", developmentUsers: "Accounts to try",
        unreachable: {
            "This app asks for a level of sign-in (\($0)) that cannot be reached here. Ask whoever runs this service."
        },
        backToApp: "Back to the app", signOutTitle: "Sign out?",
        signOutQuestion: "You will be signed out here, and apps will ask you to sign in again.", signOut: "Sign out",
        stay: "Stay signed in", signedOutTitle: "You are signed out",
        signedOutText: "You can close this page.", stillSignedInTitle: "You are still signed in",
        stillSignedInText: "Nothing has changed. You can close this page.",
        refusedTitle: "This cannot be done",
        unknownClient: "The app that sent you here is not known. Ask whoever runs it to register it.",
        wrongRedirect: "The app that sent you here asks to go back to an address that is not registered for it.",
        wrongRequest: "The app that sent you here asked in a way that is not understood.",
        staleForm: "This form is too old or belongs to another browser. Go back to the app and sign in from there.",
        wrongLogout: "The app asks for a sign-out that is not meant for it, or to go on to an unknown address.")

    static let french = PageText(
        signIn: "Se connecter", toContinueTo: "pour continuer vers",
        signInAgain: "Veuillez saisir à nouveau votre mot de passe.",
        username: "Identifiant ou adresse électronique", password: "Mot de passe", remember: "Se souvenir de moi",
        rememberHint: "Sans cela, les autres applications vous demanderont de vous reconnecter.", cancel: "Annuler",
        error: "Erreur",
        wrong: "L’identifiant ou le mot de passe est incorrect. Veuillez vérifier les deux.",
        tooMany: { minutes in
            minutes == 1
                ? "Trop d’essais. Veuillez patienter une minute."
                : "Trop d’essais. Veuillez patienter \(minutes) minutes."
        },
        developmentBanner: "Development provider · fournisseur de développement",
        developmentUsers: "Comptes à essayer",
        unreachable: {
            "Cette application demande un niveau de connexion (\($0)) impossible à atteindre ici. "
                + "Adressez-vous au responsable de ce service."
        },
        backToApp: "Retour à l’application", signOutTitle: "Se déconnecter ?",
        signOutQuestion: "Vous serez déconnecté ici et les applications vous demanderont de vous reconnecter.",
        signOut: "Se déconnecter", stay: "Rester connecté", signedOutTitle: "Vous êtes déconnecté",
        signedOutText: "Vous pouvez fermer cette page.", stillSignedInTitle: "Vous êtes toujours connecté",
        stillSignedInText: "Rien n’a changé. Vous pouvez fermer cette page.", refusedTitle: "C’est impossible",
        unknownClient: "L’application qui vous envoie ici est inconnue. Demandez à son responsable de l’enregistrer.",
        wrongRedirect:
            "L’application qui vous envoie ici veut revenir à une adresse qui n’est pas enregistrée pour elle.",
        wrongRequest: "La demande de l’application qui vous envoie ici n’est pas comprise.",
        staleForm: "Ce formulaire est trop ancien ou appartient à un autre navigateur. "
            + "Retournez dans l’application et connectez-vous depuis celle-ci.",
        wrongLogout: "L’application demande une déconnexion qui ne la concerne pas, ou une adresse de retour inconnue.")
}
