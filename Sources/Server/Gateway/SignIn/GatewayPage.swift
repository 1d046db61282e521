// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreRouting

/// The small pages that a person sees between the app, the provider and us: English or French, light or dark, no script.
struct GatewayPage: Sendable {
    /// What the page is about; it chooses the picture.
    enum Tone: String {
        case going
        case problem
        case done
    }

    /// The languages the pages speak.
    enum Language: String {
        case english = "en"
        case french = "fr"

        /// The language a browser prefers (RFC 9110 section 12.5.4); English when it asks for neither.
        init(_ fields: HTTPFields) {
            var best = (language: Language.english, weight: 0.0)
            for item in fields.tokens("Accept-Language") {
                let parts = item.parts(at: ";")
                let weight =
                    parts.dropFirst().compactMap { part -> Double? in
                        let text = part.trimmingSpaces()
                        return text.hasPrefix("q=") ? Double(text.dropFirst(2)) : nil
                    }.first ?? 1
                guard let tag = parts.first?.parts(at: "-").first,
                    let language = Language(rawValue: String(tag)), weight > best.weight
                else { continue }
                best = (language, weight)
            }
            self = best.language
        }

        func text(_ english: String, _ french: String) -> String { self == .french ? french : english }
    }

    let language: Language
    let tone: Tone
    let title: String
    let text: String
    /// The button: what it says and where it leads.
    var action: (label: String, target: String)?
    /// A quiet line below.
    var note: String?
    /// Whether the page follows the button by itself.
    var leadsByItself = false

    /// The page as an answer. Its policy allows its own style and nothing else: no script, no form, no frame.
    func response(_ status: HTTPStatus = .ok, random: any RandomSource) -> HTTPResponse {
        let nonce = Base64URL.encode(random.bytes(16))
        let policy =
            "default-src 'none'; style-src 'nonce-\(nonce)'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        var response = HTTPResponse.html(markup(nonce: nonce), status: status, policy: policy)
        response.fields["Content-Language"] = language.rawValue
        response.fields["X-Robots-Tag"] = "noindex"
        return response
    }

    private func markup(nonce: String) -> String {
        let head =
            leadsByItself
            ? action.map { "<meta http-equiv=\"refresh\" content=\"0;url=\(escape($0.target))\">\n" } : nil
        let button = action.map { "<a class=\"button\" href=\"\(escape($0.target))\">\(escape($0.label))</a>\n" }
        let quiet = note.map { "<p class=\"note\">\(escape($0))</p>\n" }
        return """
            <!doctype html>
            <html lang="\(language.rawValue)">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            \(head ?? "")<title>\(escape(title))</title>
            <style nonce="\(nonce)">\(Self.style)</style>
            </head>
            <body>
            <main class="card \(tone.rawValue)">
            <div class="sign" aria-hidden="true">\(Self.sign(tone))</div>
            <h1>\(escape(title))</h1>
            <p>\(escape(text))</p>
            \(button ?? "")\(quiet ?? "")</main>
            </body>
            </html>
            """
    }

    private func escape(_ text: String) -> String { HTMLText.escape(text) }

    private static func sign(_ tone: Tone) -> String {
        let path =
            switch tone {
            case .going: "M5 12h14M13 6l6 6-6 6"
            case .problem: "M12 7v6M12 17h.01"
            case .done: "M5 13l4.5 4.5L19 8"
            }
        return "<svg viewBox=\"0 0 24 24\" width=\"28\" height=\"28\" fill=\"none\" stroke=\"currentColor\" "
            + "stroke-width=\"2.2\" stroke-linecap=\"round\" stroke-linejoin=\"round\"><path d=\"\(path)\"/></svg>"
    }

    private static let style = """
        :root{--ground:#f3f5f9;--card:#fdfdfe;--text:#1b2230;--muted:#5a6478;--line:#dde2ec;--accent:#2457c5;
        --on-accent:#fdfdfe;--tint:#e4ebfa;--danger:#a8321f;--danger-tint:#fae7e3;--good:#1d6b43;--good-tint:#e0f2e8}
        @media (prefers-color-scheme:dark){:root{--ground:#12161e;--card:#1b212c;--text:#e7ebf3;--muted:#a3adbf;
        --line:#2c3443;--accent:#8db1ff;--on-accent:#10182a;--tint:#24304a;--danger:#ff9d8a;--danger-tint:#43251f;
        --good:#7fd6a7;--good-tint:#1d3a2b}}
        *{box-sizing:border-box}
        html,body{height:100%;margin:0}
        body{display:grid;place-items:center;padding:24px;background:var(--ground);color:var(--text);
        font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
        .card{width:100%;max-width:400px;padding:32px 28px;text-align:center;background:var(--card);
        border:1px solid var(--line);border-radius:12px;box-shadow:0 8px 32px rgb(16 24 40/.08)}
        .sign{display:grid;place-items:center;width:56px;height:56px;margin:0 auto 16px;border-radius:999px;
        background:var(--tint);color:var(--accent)}
        .problem .sign{background:var(--danger-tint);color:var(--danger)}
        .done .sign{background:var(--good-tint);color:var(--good)}
        h1{margin:0 0 8px;font-size:20px;line-height:1.3}
        p{margin:0 0 20px;color:var(--muted);overflow-wrap:anywhere}
        .button{display:block;padding:12px 20px;min-height:48px;border-radius:8px;background:var(--accent);
        color:var(--on-accent);font-weight:600;text-decoration:none}
        .button:hover{filter:brightness(1.07)}
        .button:focus-visible{outline:3px solid var(--accent);outline-offset:3px}
        .note{margin:16px 0 0;font-size:14px}
        """
}
