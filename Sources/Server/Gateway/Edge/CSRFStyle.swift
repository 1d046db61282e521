// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreHTTP
import NacreSessions

/// Under which names a page and the gateway exchange the CSRF token, and what becomes of the upstream's own check.
///
/// Whatever the style, `X-CSRFToken` is taken too: apps send it.
package enum CSRFStyle: String, Sendable, CaseIterable {
    /// `X-CSRFToken`; the page gets the token from `/api/v1.0/csrf/`. The upstream's own check is off, or its own affair.
    case gateway
    /// Cookie `csrftoken`, field `X-CSRFToken`. Django's `CsrfViewMiddleware` stays on: the gateway gives it a matching pair.
    case django
    /// Field `X-CSRF-Token`, from the page's `<meta name="csrf-token">`. Rails' own check is off.
    case rails
    /// Cookie `XSRF-TOKEN`, field `X-XSRF-TOKEN` (or `X-CSRF-TOKEN`), as axios sends it. Laravel's own check is off.
    case laravel

    static let tokenField = "X-CSRFToken"

    /// The fields that may carry the token.
    var fields: [String] {
        switch self {
        case .gateway, .django: [Self.tokenField]
        case .rails: [Self.tokenField, "X-CSRF-Token"]
        case .laravel: [Self.tokenField, "X-XSRF-TOKEN", "X-CSRF-TOKEN"]
        }
    }

    /// The cookie that a page's script reads the token from.
    var cookie: String? {
        switch self {
        case .gateway, .rails: nil
        case .django: "csrftoken"
        case .laravel: "XSRF-TOKEN"
        }
    }

    /// Takes what was meant for us out of a request that was checked, and gives the upstream what its own check wants.
    func prepare(_ request: inout HTTPRequest, of session: Session) {
        for name in fields {
            // A token of the upstream's own stays: it may check by itself.
            let isOurs = request.fields.values(name).contains { CSRFToken.isValid($0, secret: session.csrfSecret) }
            if isOurs { request.fields.removeAll(name) }  // guard: csrf-token-kept-here
        }
        guard self == .django else { return }
        let secret = Self.djangoSecret(of: session)
        let rest = request.fields["Cookie"]
        request.fields["Cookie"] = (rest.map { $0 + "; " } ?? "") + "csrftoken=\(secret)"
        if request.method.isUnsafe { request.fields[Self.tokenField] = secret }
    }

    /// What Django takes for its own secret (32 letters and digits): the same for a whole session, so that forms that it
    /// rendered stay valid, and known to no page.
    static func djangoSecret(of session: Session) -> String {
        Hex.encode(HMACSHA256.authenticate("nacre django csrf".utf8, key: session.csrfSecret).prefix(16))
    }

    /// The field value that gives a page its token, where the style has a cookie and the page has no valid one.
    func cookieField(for request: HTTPRequest, _ session: Session, secure: Bool, random: any RandomSource) -> String? {
        guard let cookie else { return nil }
        let shown = CookieFields.pairs(request.fields.values("Cookie")).filter { $0.name == cookie }
        if shown.count == 1, CSRFToken.isValid(shown[0].value, secret: session.csrfSecret) { return nil }
        let token = CSRFToken.make(secret: session.csrfSecret, random: random)
        return "\(cookie)=\(token); Path=/; SameSite=Lax" + (secure ? "; Secure" : "")
    }
}
