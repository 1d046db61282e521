// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore

/// Language of what the shell itself says.
package enum ShellLanguage: String, Sendable {
    case english = "en"
    case french = "fr"
    /// What the environment asks for (`LC_ALL`, `LC_MESSAGES`, `LANG`).
    case system

    /// `system` resolved from `LANGUAGE`-style names such as `fr_FR.UTF-8`, in order of preference.
    package func resolved(preferred names: [String]) -> ShellLanguage {
        guard self == .system else { return self }
        for name in names {
            if name.hasPrefix("fr") { return .french }
            if name.hasPrefix("en") { return .english }
        }
        return .english
    }
}

extension ShellLanguage {
    /// Dictionaries for names such as `fr_FR.UTF-8`, without repetitions: `fr_FR`, `fr`.
    static func spelling(preferred names: [String]) -> [String] {
        var found: [String] = []
        for name in names {
            let bare = String(name.prefix { $0 != "." && $0 != "@" })
            let isLanguage = bare.utf8.count >= 2 && bare.allSatisfy { $0.isASCII && ($0.isLetter || $0 == "_") }
            if isLanguage, bare != "POSIX", !found.contains(bare) { found.append(bare) }
        }
        return found
    }
}

/// Pages of the shell's own, shown where the app's page cannot be: never a blank window.
package enum ShellPage: Sendable, Equatable {
    /// The page's process died.
    case crashed(ShellCrash)
    /// The development server does not answer (SH-2).
    case devServerUnreachable(address: String, reason: String)
    /// The app's own page could not be loaded.
    case loadFailed(reason: String)
    /// Nothing, for the moment between two bundles.
    case blank

    /// Whether the shell asks by itself whether the page is back.
    var retriesAlone: Bool {
        switch self {
        case .crashed, .blank: false
        case .devServerUnreachable, .loadFailed: true
        }
    }

    /// Address of the page's button; only a page of the shell's own may use it.
    static let retryURL = "nacre-shell:retry"

    /// The page as HTML: no script, no outside resource, light or dark as the system is.
    package func html(appName: String, language: ShellLanguage) -> String {
        if self == .blank { return "<!doctype html><meta name=color-scheme content=\"light dark\">" }
        let text = wording(appName: appName, french: language == .french)
        let detail = text.detail.isEmpty ? "" : "<pre>\(HTMLText.escape(text.detail))</pre>"
        let note = text.note.isEmpty ? "" : "<p class=\"note\" role=\"status\">\(HTMLText.escape(text.note))</p>"
        return """
            <!doctype html>
            <html lang="\(language == .french ? "fr" : "en")">
            <meta charset="utf-8">
            <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <title>\(HTMLText.escape(text.title))</title>
            <style>\(Self.style)</style>
            <main>
              \(Self.mark)
              <h1>\(HTMLText.escape(text.title))</h1>
              <p>\(HTMLText.escape(text.body))</p>
              \(detail)
              <a class="button" href="\(Self.retryURL)" autofocus>\(HTMLText.escape(text.button))</a>
              \(note)
            </main>
            </html>
            """
    }

    /// Title and text alone, for a window that can show no page.
    func plainText(appName: String, french: Bool) -> String {
        let text = wording(appName: appName, french: french)
        return text.title + "\n\n" + text.body
    }

    private struct Wording {
        var title: String, body: String, detail = "", button: String, note = ""
    }

    private func wording(appName: String, french: Bool) -> Wording {
        switch self {
        case .blank: return Wording(title: appName, body: "", button: "")
        case .crashed(let crash):
            let memory = crash == .outOfMemory
            return french
                ? Wording(
                    title: "La page s’est arrêtée",
                    body: memory
                        ? "\(appName) a utilisé trop de mémoire. Vos données enregistrées sont intactes."
                        : "\(appName) a rencontré un problème. Vos données enregistrées sont intactes.",
                    button: "Recharger")
                : Wording(
                    title: "The page stopped working",
                    body: memory
                        ? "\(appName) used too much memory. What you have saved is safe."
                        : "\(appName) ran into a problem. What you have saved is safe.",
                    button: "Reload")
        case .devServerUnreachable(let address, let reason):
            return french
                ? Wording(
                    title: "Le serveur de développement ne répond pas",
                    body: "\(appName) attend \(address).", detail: reason, button: "Réessayer",
                    note: "La page s’ouvrira d’elle-même dès que le serveur répondra.")
                : Wording(
                    title: "The development server does not answer",
                    body: "\(appName) is waiting for \(address).", detail: reason, button: "Try again",
                    note: "The page opens by itself as soon as the server answers.")
        case .loadFailed(let reason):
            return french
                ? Wording(
                    title: "\(appName) n’a pas pu s’ouvrir",
                    body: "La page de l’application n’a pas pu être chargée.", detail: reason, button: "Réessayer",
                    note: "Nouvel essai automatique.")
                : Wording(
                    title: "\(appName) could not be opened",
                    body: "The app’s own page could not be loaded.", detail: reason, button: "Try again",
                    note: "Trying again by itself.")
        }
    }

    private static let mark = """
        <svg viewBox="0 0 64 64" width="72" height="72" aria-hidden="true"><circle cx="32" cy="32" r="30" \
        class="disc"/><path class="line" d="M32 18v18"/><circle class="dot" cx="32" cy="45" r="2.6"/></svg>
        """

    private static let style = """
        :root { --ground: #f6f7f9; --text: #1d2430; --muted: #5a6474; --line: #d9dee6; --accent: #1f5fbf; \
        --on-accent: #fdfdfe; --raised: #fdfdfe; }
        @media (prefers-color-scheme: dark) { :root { --ground: #15181d; --text: #e4e8ee; --muted: #9aa5b5; \
        --line: #303742; --accent: #7fb0ff; --on-accent: #101621; --raised: #1c2027; } }
        html, body { height: 100%; margin: 0; }
        body { display: grid; place-items: center; background: var(--ground); color: var(--text); \
        font: 16px/1.5 system-ui, sans-serif; cursor: default; }
        main { box-sizing: border-box; width: min(100%, 480px); padding: 24px; text-align: center; }
        .disc { fill: var(--raised); stroke: var(--line); stroke-width: 2; }
        .line { stroke: var(--accent); stroke-width: 4; stroke-linecap: round; }
        .dot { fill: var(--accent); }
        h1 { margin: 20px 0 8px; font-size: 20px; line-height: 1.3; font-weight: 600; text-wrap: balance; }
        p { margin: 0 0 16px; color: var(--muted); text-wrap: pretty; }
        pre { margin: 0 0 16px; padding: 12px; border: 1px solid var(--line); border-radius: 8px; \
        background: var(--raised); font: 14px/1.5 ui-monospace, monospace; text-align: start; white-space: pre-wrap; \
        overflow-wrap: anywhere; }
        .button { display: inline-block; box-sizing: border-box; min-height: 44px; padding: 10px 28px; \
        border-radius: 999px; background: var(--accent); color: var(--on-accent); font-weight: 600; \
        text-decoration: none; cursor: default; }
        .button:focus-visible { outline: 3px solid var(--accent); outline-offset: 3px; }
        .note { margin: 16px 0 0; font-size: 14px; }
        """
}
