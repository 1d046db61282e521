// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreBridge
package import NacreCore
import NacreHTTP

/// Capacitor's `CapacitorCookies` over the app's own jar (NB-7). Without a url the API's cookies are meant. A cookie that
/// is HttpOnly, such as the session's, is neither shown nor replaced; only clearing takes it away.
package struct CookiesPlugin: BridgePlugin {
    package let name = "CapacitorCookies"
    package let methods = ["getCookies", "setCookie", "deleteCookie", "clearCookies", "clearAllCookies"].map {
        BridgeMethod($0)
    }
    private let cookies: PageCookieJar
    private let address: APIAddress

    package init(cookies: PageCookieJar, address: APIAddress) {
        self.cookies = cookies
        self.address = address
    }

    package func call(_ method: String, options: JSONValue, call: BridgeCallContext) async throws -> JSONValue {
        let options = Options("CapacitorCookies.\(method)", options)
        if method == "clearAllCookies" {
            await cookies.clear(for: nil)
            return .null
        }
        let url = try url(options)
        switch method {
        case "getCookies":
            let pairs = await cookies.visible(for: url)
            return .object(
                Dictionary(pairs.map { ($0.name, JSONValue.string($0.value)) }, uniquingKeysWith: { first, _ in first })
            )
        case "clearCookies": await cookies.clear(for: url)
        default:
            let name = try options.text("key")
            let value = method == "setCookie" ? try options.text("value") : ""
            var text = "\(name)=\(value); path=\(options["path"]?.string ?? "/")"
            if method == "deleteCookie" { text += "; max-age=0" }
            if let expires = options["expires"]?.string, method == "setCookie" { text += "; expires=\(expires)" }
            for part in [name, value, options["path"]?.string ?? "", options["expires"]?.string ?? ""] {
                guard !part.utf8.contains(UInt8(ascii: ";")) else {  // guard: cookies-attribute-injection
                    throw BridgeRejection.invalid(
                        "\(options.method): nothing of a cookie holds a semicolon; encode it.")
                }
            }
            guard !name.isEmpty, !name.utf8.contains(UInt8(ascii: "=")),
                await cookies.set(text, name: name, from: url)
            else {
                throw BridgeRejection(
                    code: "REFUSED", message: "The cookie \(name) is the server's own (HttpOnly), or cannot be kept.")
            }
        }
        return .null
    }

    private func url(_ options: Options) throws -> WebURL {
        guard let text = options["url"]?.string, text != address.page.description else {
            return WebURL(origin: address.api, target: "/")
        }
        return try address.url(text)
    }
}
