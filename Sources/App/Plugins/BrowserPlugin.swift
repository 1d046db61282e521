// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreBridge
package import NacreCore
import NacreHTTP
package import NacrePorts

/// Capacitor's `Browser` over the person's own browser.
///
/// A tab of theirs cannot be closed or watched from here: `close` brings our window to the front (OA-6), and
/// `browserFinished` is never raised, for nobody could say truthfully that it happened.
package struct BrowserPlugin: BridgePlugin {
    package let name = "Browser"
    package let methods = [BridgeMethod("open"), BridgeMethod("close")]
    private let browser: any SystemBrowser
    private let window: WindowActions

    package init(browser: any SystemBrowser, window: WindowActions) {
        self.browser = browser
        self.window = window
    }

    package func call(_ method: String, options: JSONValue, call: BridgeCallContext) async throws -> JSONValue {
        guard method == "open" else {
            await window.present()
            return .null
        }
        guard let text = options["url"]?.string, let url = try? WebURL(text) else {  // guard: browser-web-only
            throw BridgeRejection(code: "INVALID", message: "Browser.open needs an http or https url.")
        }
        // As written, with its fragment, which WebURL drops.
        _ = url
        try await browser.open(text)
        return .null
    }
}

/// The seeds' `WebAuthSession`: the system browser for one round trip that ends on a link of ours.
package struct WebAuthSessionPlugin: BridgePlugin {
    package let name = "WebAuthSession"
    package let methods = [BridgeMethod("start"), BridgeMethod("cancel")]

    /// Opens the address and returns the link that ended it, or nil when the person cancelled.
    private let run: @Sendable (_ url: String) async throws -> String?
    /// Runs the app's own sign-in.
    private let signIn: @Sendable () async throws -> JSONValue
    private let cancel: @Sendable () async -> Void
    private let scheme: String
    private let window: WindowActions

    package init(
        scheme: String, window: WindowActions, run: @escaping @Sendable (_ url: String) async throws -> String?,
        signIn: @escaping @Sendable () async throws -> JSONValue, cancel: @escaping @Sendable () async -> Void
    ) {
        self.scheme = scheme
        self.window = window
        self.run = run
        self.signIn = signIn
        self.cancel = cancel
    }

    package func call(_ method: String, options: JSONValue, call: BridgeCallContext) async throws -> JSONValue {
        if method == "cancel" {
            await cancel()
            return .null
        }
        guard let url = options["url"]?.string else { return try await signIn() }
        if let asked = (options["callbackScheme"] ?? options["callbackURLScheme"])?.string, asked != scheme {
            throw BridgeRejection(
                code: "INVALID", message: "The app's links have the scheme \(scheme), not the one that was asked for.")
        }
        guard let link = try await run(url) else {
            throw BridgeRejection(code: "CANCELLED", message: "The sign-in was cancelled.")
        }
        await window.present()
        return ["url": .string(link)]
    }
}
