// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreHTTP
import NacreJOSE
import NacreLimits
import NacreRouting

/// What every endpoint of the provider works with.
struct ProviderCore: Sendable {
    let configuration: ProviderConfiguration
    let store: ProviderStore
    let keys: SigningKeys
    /// Seals what forms carry.
    let forms: SealingKey
    let hasher: PasswordHasher
    /// Counts tries of passwords, together with every other process.
    let limiter: SharedLimiter
    let time: any TimeSource
    let random: any RandomSource
    let log: Log
    /// The path of the issuer, empty at the root.
    let basePath: String
    let cookies: ProviderCookies
    let bell = LogoutBell()

    var issuer: String { configuration.issuer }
    var pages: ProviderPages { ProviderPages(basePath: basePath, isDevelopment: configuration.isDevelopment) }

    /// A text that only this provider, this browser and this purpose can open again, for as long as a form lives.
    func seal(_ text: String, purpose: String, browser: String) throws(NacreError) -> String {
        let content: JSONValue = ["at": .integer(time.now.milliseconds), "text": .string(text)]
        return Base64URL.encode(
            try forms.seal(content.bytes, context: Self.context(purpose, browser), random: random))
    }

    /// The text of a form of this browser, or nil when it was altered, is too old, or is another browser's.
    func open(_ sealed: String?, purpose: String, browser: String?) -> String? {
        guard let browser, let box = sealed.flatMap({ Base64URL.decode($0) }),
            let content = try? forms.open(box, context: Self.context(purpose, browser)),
            let value = try? JSONParser.parse(content), let made = value["at"]?.integer,
            time.now - Instant(milliseconds: made) < configuration.lifetimes.form  // guard: provider-form-age
        else { return nil }
        return value["text"]?.string
    }

    // The browser's own cookie is part of the seal: a form fetched by somebody else does not work here (login CSRF).
    private static func context(_ purpose: String, _ browser: String) -> [UInt8] {
        Array("\(purpose)\n\(browser)".utf8)  // guard: provider-form-browser
    }

    /// Ends a session here, and sees to it that its clients hear of it.
    func endSession(_ sid: String) async throws {
        try await store.endSession(sid: sid, telling: configuration.listeners, now: time.now)
        bell.ring()
    }

    /// The form fields of a POST, or nil when it is no form of a sane size.
    func form(of request: HTTPRequest) async throws -> FormFields? {
        guard request.fields.mediaType == "application/x-www-form-urlencoded",
            let bytes = try? await request.body.collect(upTo: 32 * 1024),
            let text = String(validating: bytes, as: UTF8.self)
        else { return nil }
        return FormFields(decoding: text)
    }
}

/// The provider's cookies. Over https they are `__Host-` cookies, which no other host can set.
struct ProviderCookies: Sendable {
    let isSecure: Bool

    private var prefix: String { isSecure ? "__Host-" : "" }
    /// The single sign-on session.
    var session: String { prefix + "nacre_idp" }
    /// Ties a form to the browser that fetched it.
    var browser: String { prefix + "nacre_idp_browser" }
    /// Tells that this device signed somebody in before.
    var device: String { prefix + "nacre_idp_device" }

    /// The value of a cookie that came with a request.
    func value(_ name: String, in request: HTTPRequest) -> String? {
        for header in request.fields.values("Cookie") {
            for pair in header.parts(at: ";") {  // guard: provider-cookie-bytes
                let halves = pair.parts(at: "=", most: 2, keepingEmpty: true)
                guard halves.count == 2, halves[0].trimmingSpaces() == name else { continue }
                let value = halves[1].trimmingSpaces()
                return value.isEmpty || value.utf8.count > 256 ? nil : value
            }
        }
        return nil
    }

    /// A Set-Cookie value; without an age the cookie ends with the browser.
    func setting(_ name: String, _ value: String, age: Duration?) -> String {
        var text = "\(name)=\(value); Path=/; HttpOnly; SameSite=Lax"
        if isSecure { text += "; Secure" }
        if let age { text += "; Max-Age=\(age.inMilliseconds / 1000)" }
        return text
    }
}
