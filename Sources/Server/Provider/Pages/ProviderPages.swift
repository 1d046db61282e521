// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreRouting

/// What a login form shows besides its fields.
struct LoginForm: Sendable {
    enum Problem: Sendable {
        case wrong
        case tooMany(wait: Duration)
        case unreachable(level: String)
    }

    var clientName: String
    var redirectOrigin: String?
    var attempt: String
    var username = ""
    var remember = true
    /// Whether somebody is signed in and has to prove it again.
    var isRepeated = false
    var problem: Problem?
}

/// Makes the pages. Every page carries a strict policy: no script at all, and forms that go to this provider and on to
/// the client's own origin only, so that a redirect from the form to a custom scheme fails here too (PV-4).
struct ProviderPages: Sendable {
    let basePath: String
    let isDevelopment: Bool

    /// The policy; `destination` is the one foreign origin that a form may end at.
    static func policy(destination: String?) -> String {
        let targets = ["'self'", destination].compactMap(\.self).joined(separator: " ")
        return "default-src 'none'; style-src \(PageStyle.source); form-action \(targets); base-uri 'none'; "
            + "frame-ancestors 'none'"
    }

    private func page(
        _ title: String, _ language: PageLanguage, status: HTTPStatus, destination: String?, after: String = "",
        _ content: String
    ) -> HTTPResponse {
        let text = language.text
        let banner = isDevelopment ? "<p class=\"env\">\(escaped(text.developmentBanner))</p>" : ""
        return .html(
            """
            <!doctype html>
            <html lang="\(language.rawValue)">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <meta name="robots" content="noindex">
            <title>\(escaped(title))</title>
            <style>\(PageStyle.css)</style>
            </head>
            <body>
            \(banner)
            <main>
            \(PageStyle.mark)
            \(content)
            </main>
            \(after)
            </body>
            </html>
            """, status: status, policy: Self.policy(destination: destination))
    }

    /// The login form, or what stands in its place when the level that is asked for cannot be reached.
    func login(_ form: LoginForm, _ language: PageLanguage, status: HTTPStatus = .ok) -> HTTPResponse {
        let text = language.text
        let problem = form.problem.map { sentence($0, text) }
        let notice = problem.map { "<p class=\"notice bad\" id=\"problem\" role=\"alert\">\(escaped($0))</p>" } ?? ""
        let again = form.isRepeated ? "<p class=\"lead\">\(escaped(text.signInAgain))</p>" : ""
        let title = (problem == nil ? "" : text.error + ": ") + text.signIn + " · " + form.clientName
        return page(
            title, language, status: status, destination: form.redirectOrigin, after: developmentUsers(text),
            """
            <h1>\(escaped(text.signIn))</h1>
            <p class="lead">\(escaped(text.toContinueTo)) <strong><bdi>\(escaped(form.clientName))</bdi></strong></p>
            \(again)
            \(notice)
            <form method="post" action="\(escaped(basePath))/login">
            <input type="hidden" name="attempt" value="\(escaped(form.attempt))">
            \(fields(form, text))
            </form>
            """)
    }

    private func sentence(_ problem: LoginForm.Problem, _ text: PageText) -> String {
        switch problem {
        case .wrong: text.wrong
        case .tooMany(let wait): text.tooMany(max(1, Int((wait.inMilliseconds + 59_999) / 60_000)))
        case .unreachable(let level): text.unreachable(level)
        }
    }

    private func fields(_ form: LoginForm, _ text: PageText) -> String {
        if case .unreachable = form.problem {
            return """
                <button class="primary" type="submit" name="action" value="cancel">\(escaped(text.backToApp))</button>
                """
        }
        var invalid = ""
        if case .wrong = form.problem { invalid = " aria-invalid=\"true\" aria-describedby=\"problem\"" }
        let (first, second) = form.username.isEmpty ? (" autofocus", "") : ("", " autofocus")
        return """
            <label for="username">\(escaped(text.username))</label>
            <input type="text" id="username" name="username" value="\(escaped(form.username))" required maxlength="254" \
            autocomplete="username" autocapitalize="none" autocorrect="off" spellcheck="false" dir="auto"\(invalid)\(first)>
            <label for="password">\(escaped(text.password))</label>
            <input type="password" id="password" name="password" required maxlength="1024" \
            autocomplete="current-password"\(invalid)\(second)>
            <div class="check">
            <input type="checkbox" id="remember" name="remember" value="1" aria-describedby="remember-hint"\
            \(form.remember ? " checked" : "")>
            <label for="remember">\(escaped(text.remember))</label>
            <p class="hint" id="remember-hint">\(escaped(text.rememberHint))</p>
            </div>
            <button class="primary" type="submit">\(escaped(text.signIn))</button>
            <button class="plain" type="submit" name="action" value="cancel" formnovalidate>\(escaped(text.cancel))</button>
            """
    }

    private func developmentUsers(_ text: PageText) -> String {
        guard isDevelopment else { return "" }
        let items = DevelopmentUser.all.map { user in
            "<li><bdi>\(escaped(user.name))</bdi>: <code>\(escaped(user.username))</code> "
                + "<code>\(escaped(user.password))</code></li>"
        }
        return "<details><summary>\(escaped(text.developmentUsers))</summary><ul>\(items.joined())</ul></details>"
    }

    /// A page that only says something.
    func message(
        title: String, _ sentence: String, _ language: PageLanguage, status: HTTPStatus = .ok
    ) -> HTTPResponse {
        page(
            title, language, status: status, destination: nil,
            "<h1>\(escaped(title))</h1>\n<p class=\"lead\">\(escaped(sentence))</p>")
    }

    /// A refusal that leads nowhere, because the address to lead to is not to be trusted.
    func refusal(_ sentence: String, _ language: PageLanguage, status: HTTPStatus = .badRequest) -> HTTPResponse {
        message(title: language.text.refusedTitle, sentence, language, status: status)
    }

    /// Asks before a sign-out that nobody proved to come from an app the person is signed in to.
    func signOutQuestion(attempt: String, redirectOrigin: String?, _ language: PageLanguage) -> HTTPResponse {
        let text = language.text
        return page(
            text.signOutTitle, language, status: .ok, destination: redirectOrigin,
            """
            <h1>\(escaped(text.signOutTitle))</h1>
            <p class="lead">\(escaped(text.signOutQuestion))</p>
            <form method="post" action="\(escaped(basePath))/logout/confirm">
            <input type="hidden" name="attempt" value="\(escaped(attempt))">
            <button class="primary" type="submit">\(escaped(text.signOut))</button>
            <button class="plain" type="submit" name="action" value="cancel">\(escaped(text.stay))</button>
            </form>
            """)
    }
}
