// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
public import NacreCrypto
import NacreHTTP
import NacreJOSE

/// Settings of the embedded OpenID provider (PV-1 … PV-5). A value; changing it later changes nothing that runs.
public struct ProviderConfiguration: Sendable {
    /// The issuer's URL, exactly as clients are told; no trailing slash. Default `http://localhost:8902`.
    public var issuer: String = "http://localhost:8902"
    /// The applications that may sign people in.
    public var clients: [ProviderClient]
    /// With `true` (`NACRE_ENV=development`) there are seeded users, and every page says "development provider".
    public var isDevelopment: Bool = false
    /// At least 32 secret bytes that seal what forms carry and the signing keys at rest. Without them the provider makes
    /// its own and keeps them in the database, whose file then is the secret.
    public var secret: [UInt8]?
    /// Levels of authentication (PV-2), lowest first.
    public var levels: [AuthenticationLevel] = AuthenticationLevel.standard
    /// How long things live.
    public var lifetimes = ProviderLifetimes()
    /// How many wrong passwords are taken.
    public var throttle = ProviderThrottle()
    /// What one password hash costs.
    public var passwordCost: PasswordCost = .standard

    /// Defaults with these clients.
    public init(clients: [ProviderClient] = []) { self.clients = clients }

    /// The clients that want to hear that a session is over.
    var listeners: [String] { clients.filter { $0.backchannelLogoutURI != nil }.map(\.id) }

    func client(_ id: String) -> ProviderClient? { clients.first { areIdentical($0.id, id) } }

    /// - Throws: `provider.configuration` that says what is wrong.
    func validate() throws(NacreError) {
        func fault(_ message: String) -> NacreError { NacreError("provider.configuration", message) }
        let url = try WebURL(issuer)
        guard !issuer.hasSuffix("/"), url.query == nil, !issuer.contains("#") else {
            throw fault("The issuer \(issuer) must be a plain URL without a slash at its end.")
        }
        guard url.origin.scheme == "https" || url.origin.isLoopback else {
            throw fault("The issuer \(issuer) must use https; only loopback names may use http.")
        }
        guard secret.map({ $0.count >= 32 }) ?? true else {
            throw fault("The provider's secret needs 32 bytes or more.")
        }
        guard Set(clients.map(\.id)).count == clients.count else {
            throw fault("Two clients have the same identifier.")
        }
        guard !levels.isEmpty else { throw fault("At least one level of authentication is needed.") }
        for client in clients { try client.validate() }
    }
}

/// How long the provider's sessions and tokens live.
public struct ProviderLifetimes: Sendable {
    /// An authorization code.
    public var code: Duration = .seconds(60)
    /// An access token.
    public var accessToken: Duration = .seconds(300)
    /// An ID token.
    public var idToken: Duration = .seconds(300)
    /// A refresh token, counted anew at each rotation.
    public var refreshToken: Duration = .seconds(30 * 86_400)
    /// The single sign-on session with "Remember me".
    public var rememberedSession: Duration = .seconds(30 * 86_400)
    /// The single sign-on session without it; its cookie ends with the browser, and this is the latest end.
    public var browserSession: Duration = .seconds(12 * 3600)
    /// A login form that nobody sends.
    public var form: Duration = .seconds(1800)
    /// When a signing key is followed by a new one.
    public var signingKey: Duration = .seconds(90 * 86_400)
    /// How long a new key is published before it signs, so that every node and every client has it by then.
    public var keyLead: Duration = .seconds(600)
    /// How long a followed key stays published after that.
    public var retiredKey: Duration = .seconds(86_400)

    /// The defaults.
    public init() {}
}

/// How many wrong passwords are taken at once before a 429; then one more after each share of the window. A device that
/// signed this account in before has a count of its own, so that a stranger's guesses never lock its owner out.
public struct ProviderThrottle: Sendable {
    /// Failures per address in one window.
    public var perAddress = 30
    /// Failures per account in one window.
    public var perAccount = 10
    /// The window.
    public var window: Duration = .seconds(600)
    /// Authorization requests that are answered from one session without a form, in a minute: each stores a code.
    public var silentPerMinute = 60

    /// The defaults.
    public init() {}
}
