// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreRouting

extension GatewayCore {
    /// The claimed links' own addresses (HO-14).
    func addClaimedLinks(_ routes: inout Router.Builder) {
        let claimed = configuration.claimedLinks
        if let apple = claimed.appleAssociation {
            routes.get("/.well-known/apple-app-site-association") { _, _ in Self.association(apple) }
        }
        if let android = claimed.androidAssociation {
            routes.get("/.well-known/assetlinks.json") { _, _ in Self.association(android) }
        }
        for folder in Set(claimed.links.values.map(ClaimedLinks.folder)).sorted() {
            for name in ["auth", "logout"] { routes.get(folder + name) { request, _ in withoutApp(request) } }
        }
    }

    private static func association(_ value: JSONValue) -> HTTPResponse {
        var response = HTTPResponse.json(value)
        // The systems fetch it once for all people, through caches of their own.
        response.fields["Cache-Control"] = "public, max-age=3600"
        return response
    }

    /// What a claimed link shows when no app took it: the one-time token in the address is not looked at.
    private func withoutApp(_ request: HTTPRequest) -> HTTPResponse {
        let (language, name) = (GatewayPage.Language(request.fields), configuration.name)
        return GatewayPage(
            language: language, tone: .going,
            title: language.text("This link belongs to the \(name) app", "Ce lien appartient à l’application \(name)"),
            text: language.text(
                "It was opened without the app, so nothing happened. Open \(name) on this device and sign in there.",
                "Il a été ouvert sans l’application : rien n’a été fait. Ouvrez \(name) sur cet appareil et "
                    + "connectez-vous là."),
            note: language.text(
                "If the app is installed, update it and start again.",
                "Si l’application est installée, mettez-la à jour et recommencez.")
        ).response(random: parts.random)
    }
}
