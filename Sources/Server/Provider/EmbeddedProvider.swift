// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore
import NacreCrypto
public import NacreDatabase
public import NacreHTTP
import NacreLimits
public import NacreRouting

/// The embedded OpenID provider: for development, for small installations, and as the accounts' own front (PV-1 … PV-5).
///
/// It answers under the path of its issuer, by default on `http://localhost:8902`. State lives in the database, so
/// several processes may serve one issuer.
public struct EmbeddedProvider: Sendable {
    let core: ProviderCore
    private let router: Router

    /// A provider whose tables are up to date, whose keys are there, and whose development users are seeded (or gone).
    ///
    /// - Throws: `provider.configuration` for a setting that cannot be, `provider.key_sealed` when the keys were made
    ///   with another secret, `database.*`.
    public init(
        configuration: ProviderConfiguration, database: Database, time: any TimeSource = SystemTime(),
        random: any RandomSource = SystemRandom(), log: Log = .none
    ) async throws {
        try configuration.validate()
        let url = try WebURL(configuration.issuer)
        let store = ProviderStore(database: database)
        try await store.prepare()
        let limiter = SharedLimiter(database: database, time: time, log: log.labelled("limits"))
        try await limiter.prepare()
        let secret: [UInt8]
        if let given = configuration.secret {
            secret = given
        } else {
            secret = try await store.setting("secret") { random.bytes(32) }
        }
        let keys = SigningKeys(
            store: store, sealing: try SealingKey(HKDFSHA256.derive(from: secret, info: "nacre provider keys")),
            lifetimes: configuration.lifetimes, time: time, random: random)
        let basePath = url.target == "/" ? "" : url.target
        core = ProviderCore(
            configuration: configuration, store: store, keys: keys,
            forms: try SealingKey(HKDFSHA256.derive(from: secret, info: "nacre provider forms")),
            hasher: PasswordHasher(cost: configuration.passwordCost), limiter: limiter, time: time, random: random,
            log: log.labelled("provider"), basePath: basePath,
            cookies: ProviderCookies(isSecure: url.origin.scheme == "https"))
        router = Self.router(core)
        try await keys.load()
        for algorithm in Set(configuration.clients.map(\.idTokenAlgorithm)).union([.es256]) {
            _ = try await keys.signer(algorithm)
        }
        try await seed()
    }

    /// Answers the provider's requests.
    public var responder: any HTTPResponder { router }

    /// Follows the present signing keys by new ones (`nacre admin rotate-keys`). May be called in a process of its own
    /// with the same database and secret: every node sees the new keys within half a minute.
    ///
    /// - Throws: `database.*`.
    public func rotateKeys(_ reason: KeyRotation = .planned) async throws {
        for algorithm in Set(core.configuration.clients.map(\.idTokenAlgorithm)).union([.es256]) {
            try await core.keys.rotate(algorithm, reason)
        }
        core.log.notice("keys.rotated", ["reason": .string("\(reason)")])
    }

    /// Tells clients of ended sessions (`ProviderClient.backchannelLogoutURI`) until the task is cancelled: at once, and
    /// again for a day while a client does not answer. What is still to be told stands in the database, so a restart
    /// loses nothing, and several processes may run this at the same time.
    public func run(sendingThrough transport: any HTTPTransport) async {
        let (rings, end) = core.bell.rings()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [core] in
                // Also what another process noted, and what failed before.
                while (try? await core.time.sleep(for: .seconds(5))) != nil { core.bell.ring() }
                end()
            }
            for await _ in rings {
                do { _ = try await deliverLogouts(through: transport) } catch {
                    core.log.error("logout.sender_failed", ["error": .string("\(error)")])
                }
            }
            group.cancelAll()
        }
    }

    /// Tells clients whose turn it is; answers how many have heard it.
    package func deliverLogouts(through transport: any HTTPTransport) async throws -> Int {
        try await LogoutSender(core: core, transport: transport).deliver()
    }

    /// Adds a person who may sign in.
    ///
    /// - Throws: `database.unique` when the name or the address is taken, `password.too_long`.
    public func addAccount(
        username: String, password: String, givenName: String, familyName: String, email: String, locale: String = "en"
    ) async throws {
        try await core.store.add(
            ProviderAccount(
                subject: core.random.identifier(), username: username, email: email,
                name: "\(givenName) \(familyName)".trimmingSpaces(), givenName: givenName, familyName: familyName,
                locale: locale,
                passwordHash: try await core.hasher.hash(password), isDevelopment: false),
            now: core.time.now)
    }

    private func seed() async throws {
        guard core.configuration.isDevelopment else {  // guard: provider-development-users
            return try await core.store.removeDevelopmentAccounts()
        }
        for user in DevelopmentUser.all {
            guard try await core.store.account(subject: user.subject) == nil else { continue }
            let account = ProviderAccount(
                subject: user.subject, username: user.username, email: user.email, name: user.name,
                givenName: user.givenName, familyName: user.familyName, locale: user.locale,
                passwordHash: try await core.hasher.hash(user.password), isDevelopment: true)
            do { try await core.store.add(account, now: core.time.now) } catch let error as NacreError
                where error.code == "database.unique"
            {
                // Another node that starts at the same time was faster.
                continue
            }
        }
    }

    private static func router(_ core: ProviderCore) -> Router {
        let base = core.basePath
        let authorization = AuthorizationEndpoint(core: core)
        let login = LoginEndpoint(core: core)
        let token = TokenEndpoint(core: core)
        let information = InformationEndpoints(core: core)
        let logout = LogoutEndpoint(core: core)
        return Router { routes in
            routes.get(base + "/.well-known/openid-configuration", information.discovery)
            routes.get(base + "/jwks", information.keys)
            routes.get(base + "/authorize", authorization.get)
            routes.post(base + "/authorize", authorization.post)
            routes.post(base + "/login", login.post)
            routes.post(base + "/token", token.post)
            routes.get(base + "/userinfo", information.userInfo)
            routes.post(base + "/userinfo", information.userInfo)
            routes.get(base + "/logout", logout.get)
            routes.post(base + "/logout", logout.post)
            routes.post(base + "/logout/confirm", logout.confirm)
        }
    }
}
