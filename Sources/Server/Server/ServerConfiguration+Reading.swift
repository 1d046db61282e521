// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore
import NacreGateway
import NacreHTTP
import NacreRouting

extension ServerConfiguration {
    /// Reads the content of a configuration file (an empty object when there is none) and the environment over it.
    ///
    /// `readFile` gives the text of a secret's file. Paths in the file that do not begin with a slash are relative to the
    /// file's folder. Everything is checked here, so that a wrong setting stops the start.
    /// - Throws: `configuration.*` with a sentence that names the setting.
    public init(
        json: JSONValue, file: String, environment variables: [String: String],
        readFile: (String) throws -> String
    ) throws(NacreError) {
        let environment = EnvironmentReader(variables: variables)
        var reader = try ConfigurationReader(json, file: file)
        switch environment.text("NACRE_ENV") ?? "production" {
        case "production": isDevelopment = false
        case "development": isDevelopment = true
        default: throw environment.fault("NACRE_ENV", "must be production or development.")
        }
        origin = try Self.origin(&reader, environment, isDevelopment)
        let dataText = try reader.string("data").map { Self.path($0, besides: file) }
        guard let data = environment.text("NACRE_DATA") ?? dataText ?? (isDevelopment ? ".nacre" : nil) else {
            throw reader.fault(
                "data", "is missing; write the folder for databases and keys, such as \"/var/lib/nacre\".")
        }
        self.data = data
        try readDatabase(&reader, file, environment, readFile)
        name = try reader.string("name") ?? name
        try readListen(&reader, file)
        try readUpstream(&reader, file, environment)
        var identity = try reader.object("identity")
        identityKeyAge = try identity?.integer("keyAge", in: 3600...315_360_000).map { .seconds($0) } ?? identityKeyAge
        try identity?.finish()
        try readWeb(&reader, file)
        trustedProxies = try reader.strings("trustedProxies") ?? trustedProxies
        if let wrong = trustedProxies.first(where: { AddressRange($0) == nil }) {
            throw reader.fault(
                "trustedProxies",
                "has \"\(wrong)\", which is no address and no network; write such as \"127.0.0.1\" or \"10.0.0.0/8\".")
        }
        try readOpenID(&reader, file, environment, readFile)
        try readProvider(&reader, file, environment, readFile)
        try readMobile(&reader, environment)
        try readSessions(&reader, environment)
        try readTokens(&reader)
        try readLimits(&reader)
        var updates = try reader.object("updates")
        let manifest = try updates?.string("manifest")
        updateManifest = environment.text("MOBILE_OTA_MANIFEST_URL") ?? manifest
        if let updateManifest, (try? WebURL(updateManifest)) == nil {
            throw reader.fault("updates.manifest", "must be a URL.")
        }
        freshnessFile = try updates?.string("freshness").map { Self.path($0, besides: file) }
        try updates?.finish()
        try readMetrics(&reader)
        try readLog(&reader, environment)
        stopGrace = try reader.integer("stopGrace", in: 0...600).map { .seconds($0) } ?? stopGrace
        try reader.finish()
    }

    /// A path as the file means it: relative to its own folder.
    static func path(_ path: String, besides file: String) -> String {
        guard !path.hasPrefix("/"), let slash = file.lastIndex(of: "/") else { return path }
        return file[...slash] + path
    }

    private static func origin(
        _ reader: inout ConfigurationReader, _ environment: EnvironmentReader, _ isDevelopment: Bool
    ) throws(NacreError) -> Origin {
        let written = try reader.string("origin")
        guard let text = environment.text("NACRE_ORIGIN") ?? written ?? (isDevelopment ? "http://localhost:8901" : nil)
        else {
            throw reader.fault(
                "origin", "is missing; write where browsers reach the gateway, such as \"https://mail.example.org\".")
        }
        let origin: Origin
        do { origin = try Origin(text) } catch { throw reader.fault("origin", "is wrong: \(error.message)") }
        guard origin.scheme == "https" || origin.isLoopback else {
            throw reader.fault("origin", "must be https, because session cookies travel there.")
        }
        return origin
    }

    private static func address(
        _ reader: inout ConfigurationReader, _ preset: Address
    ) throws(NacreError) -> Address {
        Address(
            host: try reader.string("host") ?? preset.host,
            port: try reader.integer("port", in: 0...65535).map { Int($0) } ?? preset.port)
    }

    private mutating func readListen(_ reader: inout ConfigurationReader, _ file: String) throws(NacreError) {
        // Without a setting the gateway listens where its own origin says, if that is this machine.
        if origin.isLoopback, origin.scheme == "http" { listen.port = origin.port }
        guard var object = try reader.object("listen") else { return }
        listen = try Self.address(&object, listen)
        if var tls = try object.object("tls") {
            certificate = Certificate(
                certificate: Self.path(
                    try tls.requiredString("certificate", example: "/etc/nacre/chain.pem"), besides: file),
                key: Self.path(try tls.requiredString("key", example: "/etc/nacre/key.pem"), besides: file))
            try tls.finish()
        }
        try object.finish()
    }

    /// How exchanges with the upstream go.
    private static func readExchange(
        _ upstream: inout Upstream, _ object: inout ConfigurationReader, _ file: String
    ) throws(NacreError) {
        func seconds(_ key: String, _ preset: Duration) throws(NacreError) -> Duration {
            try object.integer(key, in: 1...86_400).map { .seconds($0) } ?? preset
        }
        func count(_ key: String, _ range: ClosedRange<Int64>) throws(NacreError) -> Int? {
            try object.integer(key, in: range).map { Int($0) }
        }
        upstream.connectTimeout = try seconds("connectTimeout", upstream.connectTimeout)
        upstream.stall = try seconds("stall", upstream.stall)
        upstream.webSocketIdle = try seconds("webSocketIdle", upstream.webSocketIdle)
        upstream.keepAlive = try count("keepAlive", 0...4096) ?? upstream.keepAlive
        upstream.authorities = try object.string("authorities").map { path($0, besides: file) }
        upstream.preserveHost = try object.bool("preserveHost") ?? upstream.preserveHost
        upstream.maximumRequest = try count("maximumRequest", 0...Int64(Int32.max) * 1024)
        upstream.maximumResponse = try count("maximumResponse", 0...Int64(Int32.max) * 1024)
        upstream.maximumHead = try count("maximumHead", 1024...1_048_576) ?? upstream.maximumHead
        upstream.maximumLive = try count("maximumLive", 0...65_536) ?? upstream.maximumLive
        upstream.csrf = try object.string("csrf") ?? upstream.csrf
        guard CSRFStyle(rawValue: upstream.csrf) != nil else {
            throw object.fault("csrf", "must be gateway, django, rails or laravel.")
        }
    }

    private mutating func readUpstream(
        _ reader: inout ConfigurationReader, _ file: String, _ environment: EnvironmentReader
    ) throws(NacreError) {
        func origin(_ text: String, _ key: String) throws(NacreError) -> Origin {
            do { return try Origin(text) } catch { throw reader.fault(key, "is wrong: \(error.message)") }
        }
        let written = reader.value("upstream")
        if let text = written?.string {
            upstream = Upstream(origin: try origin(text, "upstream"))
        } else if written != nil, var object = try reader.object("upstream") {
            let text = try object.requiredString("origin", example: "http://127.0.0.1:8000")
            var upstream = Upstream(origin: try origin(text, "upstream.origin"))
            upstream.prefixes = try object.strings("prefixes") ?? upstream.prefixes
            upstream.anonymous = try object.strings("anonymous") ?? upstream.anonymous
            for prefix in upstream.prefixes + upstream.anonymous where !prefix.hasPrefix("/") {
                throw object.fault("prefixes", "must be paths that begin with a slash.")
            }
            upstream.audience = try object.string("audience")
            upstream.timeout = try object.integer("timeout", in: 1...3600).map { .seconds($0) } ?? upstream.timeout
            try Self.readExchange(&upstream, &object, file)
            try object.finish()
            self.upstream = upstream
        }
        if let text = environment.text("NACRE_UPSTREAM") {
            let place = try origin(text, "upstream")
            if upstream == nil { upstream = Upstream(origin: place) } else { upstream?.origin = place }
        }
    }

    private mutating func readWeb(_ reader: inout ConfigurationReader, _ file: String) throws(NacreError) {
        guard var object = try reader.object("web") else { return }
        webPath = try object.string("path").map { Self.path($0, besides: file) }
        for text in try object.strings("origins") ?? [] {
            do { webOrigins.append(try Origin(text)) } catch {
                throw object.fault("origins", "has a wrong entry: \(error.message)")
            }
        }
        try object.finish()
    }

    private mutating func readMobile(
        _ reader: inout ConfigurationReader, _ environment: EnvironmentReader
    ) throws(NacreError) {
        var object = try reader.object("mobile")
        let written = try object?.strings("schemes")
        schemes =
            try environment.list("MOBILE_AUTH_CALLBACK_SCHEMES") ?? written ?? (isDevelopment ? ["stmessages"] : [])
        for scheme in schemes where !GatewayConfiguration.isScheme(scheme) {
            throw reader.fault(
                "mobile.schemes",
                "(MOBILE_AUTH_CALLBACK_SCHEMES) has \"\(scheme)\"; a scheme has lower-case letters, digits, + - . "
                    + "and begins with a letter.")
        }
        try readLinks(&object, reader, environment)
        let seconds = try object?.integer("tokenTTL", in: 5...600)
        tokenLifetime =
            try environment.seconds("MOBILE_AUTH_TOKEN_TTL", in: 5...600) ?? seconds.map { .seconds($0) }
            ?? tokenLifetime
        exchangesPerMinute =
            try object?.integer("exchangesPerMinute", in: 1...100_000).map { Int($0) } ?? exchangesPerMinute
        try object?.finish()
    }

    private mutating func readLinks(
        _ object: inout ConfigurationReader?, _ reader: ConfigurationReader, _ environment: EnvironmentReader
    ) throws(NacreError) {
        for (scheme, value) in object?.value("links")?.object ?? [:] {
            guard let link = value.string else { throw reader.fault("mobile.links", "must hold strings only.") }
            links[scheme] = link
        }
        links = try environment.object("MOBILE_AUTH_CALLBACK_LINKS") ?? links
        let apple = try object?.strings("appleApps")
        appleApps = try environment.list("MOBILE_APPLE_APP_IDS") ?? apple ?? appleApps
        for (package, value) in object?.value("androidApps")?.object ?? [:] {
            guard let items = value.array, case let texts = items.compactMap(\.string), texts.count == items.count
            else { throw reader.fault("mobile.androidApps", "must hold lists of fingerprints.") }
            androidApps[package] = texts
        }
        androidApps = try environment.lists("MOBILE_ANDROID_APPS") ?? androidApps
        try claimedLinks().validate(origin: origin, schemes: schemes)
    }

    /// What the gateway is told of the links that apps claim (HO-14).
    func claimedLinks() throws(NacreError) -> ClaimedLinks {
        var result = ClaimedLinks()
        for (scheme, text) in links { result.links[scheme] = try WebURL(text) }
        (result.appleApps, result.androidApps) = (appleApps, androidApps)
        return result
    }

    private mutating func readSessions(
        _ reader: inout ConfigurationReader, _ environment: EnvironmentReader
    ) throws(NacreError) {
        var object = try reader.object("sessions")
        func age(_ key: String, _ name: String, _ preset: Duration) throws(NacreError) -> Duration {
            let range: ClosedRange<Int64> = 60...315_360_000
            let written = try object?.integer(key, in: range)
            return try environment.seconds(name, in: range) ?? written.map { .seconds($0) } ?? preset
        }
        cookieAge = try age("cookieAge", "SESSION_COOKIE_AGE", cookieAge)
        absoluteAge = try age("absoluteAge", "SESSION_ABSOLUTE_AGE", absoluteAge)
        revalidateAge = try age("revalidateAge", "SESSION_REVALIDATE_AGE", revalidateAge)
        graceAge = try age("graceAge", "SESSION_GRACE_AGE", graceAge)
        let range: ClosedRange<Int64> = 1...10_000
        let written = try object?.integer("perPerson", in: range)
        sessionsPerPerson =
            try (environment.integer("SESSION_MAX_PER_PERSON", in: range) ?? written).map { Int($0) }
            ?? sessionsPerPerson
        try object?.finish()
    }

    private mutating func readMetrics(_ reader: inout ConfigurationReader) throws(NacreError) {
        guard var object = try reader.object("metrics") else { return }
        guard var place = try object.object("listen") else {
            throw object.fault("listen", "is missing; write for example {\"port\": 8909}.")
        }
        let address = try Self.address(&place, Address(port: 8909))
        try place.finish()
        try object.finish()
        let taken = [listen] + (provider.enabled ? [provider.listen] : [])
        guard !taken.contains(where: { $0.port == address.port && $0.port != 0 }) else {  // guard: metrics-apart
            throw object.fault("listen", "is the port of something public; choose one of its own, such as 8909.")
        }
        metrics = address
    }

    private mutating func readLog(
        _ reader: inout ConfigurationReader, _ environment: EnvironmentReader
    ) throws(NacreError) {
        var object = try reader.object("log")
        let written = try object?.string("level")
        let levels: [LogRecord.Level] = [.debug, .info, .notice, .warning, .error]
        let name = environment.text("NACRE_LOG_LEVEL") ?? written ?? "info"
        guard let level = levels.first(where: { $0.name == name }) else {
            throw reader.fault("log.level", "must be debug, info, notice, warning or error.")
        }
        logLevel = level
        try object?.finish()
    }
}
