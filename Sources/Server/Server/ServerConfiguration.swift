// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore
public import NacreHTTP
public import NacreProvider

/// Everything that `nacre serve` is told, from `nacre.server.json` and the environment. The environment wins.
///
/// Each field says its key in the file, its name in the environment where it has one, its default and an example.
public struct ServerConfiguration: Sendable {
    /// Where something listens.
    public struct Address: Sendable, Equatable {
        /// `host`. Default `127.0.0.1`; `0.0.0.0` is every network of the machine.
        public var host: String
        /// `port`; 0 takes a free one.
        public var port: Int

        /// An address of these parts.
        public init(host: String = "127.0.0.1", port: Int) {
            self.host = host
            self.port = port
        }
    }

    /// The certificate for serving https without a proxy in front.
    public struct Certificate: Sendable {
        /// `listen.tls.certificate`: the chain in PEM.
        public var certificate: String
        /// `listen.tls.key`: the private key in PEM.
        public var key: String
    }

    /// The identity provider that people sign in at.
    public struct OpenID: Sendable {
        /// `oidc.issuer`, `OIDC_OP_URL`: the issuer exactly as the provider writes it. No default; with the embedded
        /// provider it is that one's. Example `https://auth.example.org/realms/main`.
        public var issuer: String?
        /// `oidc.clientID`, `OIDC_RP_CLIENT_ID`. No default.
        public var clientID: String?
        /// `oidc.clientSecret`, `OIDC_RP_CLIENT_SECRET`, or a file by `oidc.clientSecretFile`, `OIDC_RP_CLIENT_SECRET_FILE`.
        /// Default none: a public client.
        public var clientSecret: String?
        /// `oidc.clientAuthentication`: `basic`, `post` or `discovered`. Default `discovered`.
        public var clientAuthentication = "discovered"
        /// `oidc.scopes`, `OIDC_RP_SCOPES` (separated by spaces). Default `openid email profile`.
        public var scopes = ["openid", "email", "profile"]
        /// `oidc.signAlgorithm`, `OIDC_RP_SIGN_ALGO`: the one algorithm of ID tokens: `RS256`, `ES256`, `EdDSA`, or `HS256`
        /// with the client secret. Default: what the provider's keys say, never HS256.
        public var signAlgorithm: String?
        /// `oidc.extraParameters`, `OIDC_AUTH_REQUEST_EXTRA_PARAMS` (a JSON object): further parameters of the
        /// authorization request. Default none. Example `{"acr_values": "eidas1"}`.
        public var extraParameters: [String: String] = [:]
        /// `oidc.untypedLogoutTokens`: takes logout tokens that do not say what they are (`typ`). Default false.
        public var untypedLogoutTokens = false
        /// `oidc.essentialLevels`: levels (`acr`) of which one must be reached. Default none.
        public var essentialLevels: [String] = []
    }

    /// The embedded OpenID provider.
    public struct EmbeddedProvider: Sendable {
        /// `provider.enabled`. Default: in development, when no issuer is set.
        public var enabled = false
        /// `provider.issuer`. Default `http://localhost:PORT` of its listener; anything but loopback must be https.
        public var issuer = "http://localhost:8902"
        /// `provider.listen`. Default `127.0.0.1:8902`.
        public var listen = Address(port: 8902)
        /// `provider.clients`: applications beside the gateway that sign people in here; a list of objects with `id`, `name`
        /// (default the id), `redirectURIs`, one of `secretFile`, `secretVariable` and `public`, and where wanted
        /// `postLogoutRedirectURIs`, `backchannelLogoutURI` and `idTokenAlgorithm` (`ES256` or `RS256`). Default none.
        public var clients: [ProviderClient] = []
        /// `provider.levels`: the `acr` values and what they take, the lowest first; a list of objects with `acr` and
        /// `factors` (`password`, `oneTimeCode`). Default `eidas1` (password) and `eidas2` (both).
        public var levels = AuthenticationLevel.standard
    }

    /// The backend behind the gateway.
    public struct Upstream: Sendable {
        /// `upstream` as a string, or `upstream.origin`, `NACRE_UPSTREAM`. Example `http://127.0.0.1:8000`.
        public var origin: Origin
        /// `upstream.prefixes`: the paths that belong to it. Default `["/api/"]`.
        public var prefixes = ["/api/"]
        /// `upstream.anonymous`: those of them that need no session. Default none. Example `["/api/public/"]`.
        public var anonymous: [String] = []
        /// `upstream.audience`: the `aud` of the identity token. Default: the origin.
        public var audience: String?
        /// `upstream.timeout`, in seconds: how long an answer may take to begin, counted from the end of the upload. Default 60.
        public var timeout: Duration = .seconds(60)
        /// `upstream.connectTimeout`, in seconds: how long connecting to it may take. Default 10.
        public var connectTimeout: Duration = .seconds(10)
        /// `upstream.stall`, in seconds: how long it may stand still inside a body, either way; event streams may be
        /// silent. Default 60.
        public var stall: Duration = .seconds(60)
        /// `upstream.keepAlive`: how many unused connections to it each event loop keeps. Default 64; 0 keeps none.
        public var keepAlive = 64
        /// `upstream.authorities`: a PEM file of authorities for an https upstream. Default: the system's.
        public var authorities: String?
        /// `upstream.preserveHost`: whether it sees the public origin in Host. Default false: it sees its own.
        public var preserveHost = false
        /// `upstream.csrf`: under which names pages exchange the CSRF token, and what becomes of its own check: `gateway`,
        /// `django`, `rails` or `laravel`. Default `gateway`.
        public var csrf = "gateway"
        /// `upstream.maximumRequest`, in bytes: longer request bodies are refused with 413. Default none.
        public var maximumRequest: Int?
        /// `upstream.maximumResponse`, in bytes: longer answers are not passed on. Default none.
        public var maximumResponse: Int?
        /// `upstream.maximumHead`, in bytes: the longest head of an answer. Default 65536.
        public var maximumHead = 65_536
        /// `upstream.maximumLive`: WebSockets and event streams that one session may have open. Default 32.
        public var maximumLive = 32
        /// `upstream.webSocketIdle`, in seconds: how long a WebSocket may carry nothing either way. Default 600.
        public var webSocketIdle: Duration = .seconds(600)
    }

    /// Tokens beside the cookie, for bundles and clients that keep their own (JW-1).
    public struct Tokens: Sendable {
        /// `tokens.presentations`: `pair` (a short access token and a rotating refresh token) and `bearer` (one token).
        /// Default none: `/api/token/…` and `Authorization` are the upstream's. Example `["pair"]`.
        public var presentations: [String] = []
        /// `tokens.bearer`: `opaque` (lives and slides with its session) or `jwt`. Default `opaque`.
        public var bearer = "opaque"
        /// `tokens.bearerAge`, in seconds: how long a bearer token that is a JWT lives. Default 12 hours.
        public var bearerAge: Duration = .seconds(12 * 3600)
        /// `tokens.accessAge`, in seconds: how long an access token of a pair lives. Default 300.
        public var accessAge: Duration = .seconds(300)
        /// `tokens.retryWindow`, in seconds: for so long a refresh token that was just used is answered like the first
        /// time, for clients whose network lost the answer. Default 0: every second use ends the session.
        public var retryWindow: Duration = .zero
        /// `tokens.fromCookie`: whether a page with a session cookie may fetch tokens at
        /// `/api/v1.0/sessions/tokens/`. Default false.
        public var fromCookie = false
    }

    /// `NACRE_ENV`: `production` (default) or `development`, which fills in what a developer's machine needs.
    public var isDevelopment: Bool
    /// `name`: what the hand-off page calls the application. Default `Nacre`.
    public var name = "Nacre"
    /// `origin`, `NACRE_ORIGIN`: where browsers and apps reach the gateway. Needed in production, https except on loopback.
    /// Default in development `http://localhost:8901`. Example `https://mail.example.org`.
    public var origin: Origin
    /// `listen`: the gateway's listener. Default `127.0.0.1:8901`.
    public var listen = Address(port: 8901)
    /// `listen.tls`. Default none: a proxy in front ends TLS.
    public var certificate: Certificate?
    /// `data`, `NACRE_DATA`: the folder for databases and keys, made for this user alone. Needed in production.
    /// Default in development `.nacre`. Example `/var/lib/nacre`.
    public var data: String
    /// `identity.keyAge`, in seconds: after so long the key under the identity tokens is followed by a new one. Default 90
    /// days.
    public var identityKeyAge: Duration = .seconds(90 * 86400)
    /// `database`, `NACRE_DATABASE`, or a file by `databaseFile`, `NACRE_DATABASE_FILE`: the path of a SQLite file, or the URL of a
    /// PostgreSQL database that several nodes share. Default: files in the data folder.
    /// Example `postgres://nacre:PASSWORD@db.example.org/nacre?sslmode=verify-full`.
    public var database: String?
    /// `NACRE_SECRET`, or a file by `secretFile`, `NACRE_SECRET_FILE`: the secret of 32 bytes, in base64url, that everything at
    /// rest is sealed with; the same on every node of one database. Default: `secret.key` in the data folder.
    public var secret: String?
    /// `upstream`. Default none: paths that are not the gateway's are not found.
    public var upstream: Upstream?
    /// `web.path`: a folder with a built web bundle that is served under the gateway's own origin. Default none.
    public var webPath: String?
    /// `web.origins`: other origins whose pages may use the session cookie and be returned to. Default none.
    public var webOrigins: [Origin] = []
    /// `trustedProxies`: addresses and networks whose `X-Forwarded-For` is believed. Default none. Example
    /// `["127.0.0.1", "10.0.0.0/8"]`.
    public var trustedProxies: [String] = []
    /// `oidc`.
    public var openID = OpenID()
    /// `provider`.
    public var provider = EmbeddedProvider()
    /// `mobile.schemes`, `MOBILE_AUTH_CALLBACK_SCHEMES` (a JSON list): schemes of apps that may sign in; empty disables
    /// mobile sign-in. Default empty; in development `["stmessages"]`.
    public var schemes: [String] = []
    /// `mobile.links`, `MOBILE_AUTH_CALLBACK_LINKS` (a JSON object): scheme → https link of the gateway that the app
    /// claims; the hand-off goes there where the system has such links. Default none.
    /// Example `{"stmessages": "https://mail.example.org/app"}`.
    public var links: [String: String] = [:]
    /// `mobile.appleApps`, `MOBILE_APPLE_APP_IDS` (a JSON list): the apps that may claim those links on Apple's systems,
    /// for `/.well-known/apple-app-site-association`. Default none. Example `["A1B2C3D4E5.org.example.messages"]`.
    public var appleApps: [String] = []
    /// `mobile.androidApps`, `MOBILE_ANDROID_APPS` (a JSON object): package name → SHA-256 fingerprints of every
    /// certificate that signs it, for `/.well-known/assetlinks.json`. Default none.
    public var androidApps: [String: [String]] = [:]
    /// `mobile.tokenTTL`, `MOBILE_AUTH_TOKEN_TTL`, in seconds: how long a one-time token lives. Default 60.
    public var tokenLifetime: Duration = .seconds(60)
    /// `mobile.exchangesPerMinute`: exchanges that one client address may try. Default 20.
    public var exchangesPerMinute = 20
    /// `limits.departuresPerMinute`: sign-ins and sign-outs that one client network may begin. Default 60.
    public var departuresPerMinute = 60
    /// `limits.tokensPerMinute`: refreshes and revocations of tokens that one client network may ask for. Default 120.
    public var tokensPerMinute = 120
    /// `limits.silentPerMinute`: authorization requests that the embedded provider answers from one browser's session without
    /// asking the person. Default 60.
    public var silentPerMinute = 60
    /// `limits.connectionsPerClient`: connections that one client network may have open to each listener; `trustedProxies` are
    /// not counted. Default 512; 0 counts nobody.
    public var connectionsPerClient = 512
    /// `limits.bodyRate`, in bytes per second: what a body must move at, either way, when the client is waited for. Default
    /// 240; 0 lets bodies trickle.
    public var bodyRate = 240
    /// `limits.bodyWindow`, in seconds: for so long a body may move more slowly. Default 60.
    public var bodyWindow: Duration = .seconds(60)
    /// `tokens`.
    public var tokens = Tokens()
    /// `sessions.cookieAge`, `SESSION_COOKIE_AGE`, in seconds: a session ends after so long without use. Default 30 days.
    public var cookieAge: Duration = .seconds(30 * 86400)
    /// `sessions.absoluteAge`, `SESSION_ABSOLUTE_AGE`, in seconds: a session ends after so long in any case. Default 365 days.
    public var absoluteAge: Duration = .seconds(365 * 86400)
    /// `sessions.revalidateAge`, `SESSION_REVALIDATE_AGE`, in seconds: how often the provider is asked again. Default 12 hours.
    public var revalidateAge: Duration = .seconds(12 * 3600)
    /// `sessions.graceAge`, `SESSION_GRACE_AGE`, in seconds: how long a session lives on while the provider cannot be
    /// asked. Default 24 hours.
    public var graceAge: Duration = .seconds(24 * 3600)
    /// `sessions.perPerson`, `SESSION_MAX_PER_PERSON`: how many sessions one person may have; the one that was used the
    /// longest ago ends for a new one. Default 100.
    public var sessionsPerPerson = 100
    /// `updates.manifest`, `MOBILE_OTA_MANIFEST_URL`: the manifest of the release channel. Default none: no updates.
    public var updateManifest: String?
    /// `updates.freshness`: a file of `nacre ota freshness`, passed on to the apps and read anew every minute. Default none.
    public var freshnessFile: String?
    /// `metrics.listen`: where `/metrics` is served in Prometheus' text format, apart from everything public. Default none: no
    /// metrics. Example `{"port": 8909}`, on `127.0.0.1` unless a host is written.
    public var metrics: Address?
    /// `log.level`, `NACRE_LOG_LEVEL`: `debug`, `info`, `notice`, `warning` or `error`. Default `info`.
    public var logLevel: LogRecord.Level = .info
    /// `stopGrace`, in seconds: how long requests may go on after the signal to stop. Default 10.
    public var stopGrace: Duration = .seconds(10)

    /// The defaults at these places.
    public init(isDevelopment: Bool, origin: Origin, data: String) {
        self.isDevelopment = isDevelopment
        self.origin = origin
        self.data = data
    }
}
