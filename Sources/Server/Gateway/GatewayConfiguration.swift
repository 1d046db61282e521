// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreHTTP
package import NacreSessions

/// Everything the gateway is told. `NacreServer` fills it from files and the environment.
package struct GatewayConfiguration: Sendable {
    /// The origin under which browsers and apps reach the gateway.
    package var publicOrigin: Origin
    /// The name of the application, shown on the hand-off page.
    package var name: String
    /// `production` or `development`.
    package var environment: String
    /// The version of the server half.
    package var version: String
    /// Schemes of apps that may sign in (HO-1); empty disables mobile sign-in.
    package var callbackSchemes: [String]
    /// Links of the gateway that apps claim in place of their schemes (HO-14).
    package var claimedLinks = ClaimedLinks()
    /// How long a one-time token lives (HO-4).
    package var tokenLifetime: Duration = .seconds(60)
    /// How many exchanges one client address may try in a minute (HO-6).
    package var exchangesPerMinute = 20
    /// How many sign-ins and sign-outs one client network may begin in a minute.
    package var departuresPerMinute = 60
    /// How many refreshes and revocations of tokens one client network may ask for in a minute.
    package var tokensPerMinute = 120
    /// Tokens beside the cookie.
    package var tokens = TokenPolicy()
    /// Further origins of web pages that may send unsafe requests with the session cookie and return here after sign-in.
    package var webOrigins: [Origin] = []
    /// Addresses of proxies whose `X-Forwarded-For` is believed.
    package var trustedProxies: [String] = []
    /// The manifest of the release channel (UP-1).
    package var updateManifest: String?
    /// The signed word that its release is still the newest, where there is one.
    package var freshness: @Sendable () -> JSONValue? = { nil }
    /// The identity provider.
    package var oidc: OIDCConfiguration
    /// How long sessions live.
    package var sessions = SessionPolicy()
    /// The backend behind the gateway.
    package var upstream: UpstreamConfiguration?
    /// After so long the key under the identity tokens is followed by a new one.
    package var identityKeyAge: Duration = .seconds(90 * 86400)

    package init(
        publicOrigin: Origin, name: String = "Nacre", environment: String = "production", version: String = "0.1.0",
        callbackSchemes: [String], oidc: OIDCConfiguration, upstream: UpstreamConfiguration? = nil
    ) {
        self.publicOrigin = publicOrigin
        self.name = name
        self.environment = environment
        self.version = version
        self.callbackSchemes = callbackSchemes
        self.oidc = oidc
        self.upstream = upstream
    }

    /// Where the provider sends the browser back after a sign-in.
    package var redirectURI: String { "\(publicOrigin)/api/v1.0/callback/" }
    /// Where the provider sends the browser back after a sign-out.
    package var logoutReturnURI: String { "\(publicOrigin)/api/v1.0/logout-callback/" }

    /// Whether `scheme` can be a callback scheme: lower case as RFC 3986 recommends, nothing a system would fold or refuse.
    package static func isScheme(_ scheme: String) -> Bool {
        guard let first = scheme.utf8.first, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first),
            scheme.utf8.count <= 64
        else { return false }
        return scheme.utf8.allSatisfy {
            switch $0 {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"),
                UInt8(ascii: "-"), UInt8(ascii: "."):
                true
            default: false
            }
        }
    }
}

/// The backend that the gateway stands in front of.
package struct UpstreamConfiguration: Sendable {
    /// Where it listens.
    package var origin: Origin
    /// Paths that belong to it.
    package var prefixes: [String] = ["/api/"]
    /// Those of them that need no session.
    package var anonymousPrefixes: [String] = []
    /// The `aud` of the identity token; its origin by default.
    package var audience: String
    /// Whether it sees the public origin in Host, instead of its own.
    package var preservesHost = false
    /// How pages and the gateway exchange the CSRF token.
    package var csrf = CSRFStyle.gateway
    /// The longest request body, in bytes; nil for any.
    package var requestLimit: Int?
    /// The longest answer, in bytes; nil for any.
    package var responseLimit: Int?
    /// How many WebSockets and event streams one session, or one client network without a session, may have open.
    package var liveLimit = 32
    /// How long a WebSocket may carry nothing either way.
    package var webSocketIdle: Duration = .seconds(600)

    package init(origin: Origin, audience: String? = nil) {
        self.origin = origin
        self.audience = audience ?? origin.description
    }
}
