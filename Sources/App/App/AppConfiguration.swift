// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore
public import NacreHTTP
import NacrePorts
import NacreReleases
package import NacreUpdates

/// `nacre.json`, with the environment's names laid over it (SH-11). Unknown keys are errors that name the nearest known
/// one; a value that looks like a secret is an error, for the file ships inside the app.
public struct AppConfiguration: Sendable {
    /// `app.id`, `MOBILE_APP_ID`: the identity for the system, in reverse-DNS form. Example: `org.example.messages`.
    public var id: String
    /// `app.name`, `MOBILE_APP_NAME`: what a person calls the app. Example: `Messages`.
    public var name: String
    /// `app.version`: the native version. Example: `1.2.0`.
    public var version: String
    /// `app.build`, `MOBILE_VERSION_CODE`: the build number, growing with each release. Default `1`.
    public var build: String
    /// `app.scheme`, `MOBILE_AUTH_SCHEME`: the scheme of the app's links; one per environment. Default `stmessages`.
    public var scheme: String
    /// `app.origin`: the page's origin; must not change after the first release. Default `https://localhost`.
    public var origin: Origin

    /// `bundle.path`: the web bundle, beside `nacre.json`. Default `dist`.
    public var bundlePath: String
    /// `bundle.version`: the bundle's own version for the version report. Default `app.version`.
    public var bundleVersion: String
    /// `bundle.devServer`, `MOBILE_DEV_SERVER_URL`: a development server in the bundle's place. Default none.
    public var devServer: Origin?
    /// `bundle.serviceWorker`: whether the page may register one (SH-1). Default false.
    public var serviceWorker: Bool
    /// `SOURCE_VERSION`, else `MOBILE_OTA_BUILD_ID`: the stamp of the running tree (UP-11). Default `dev`.
    public var stamp: String

    /// `api.origin`, `NEXT_PUBLIC_API_ORIGIN` or `CAP_API_URL`: the backend. Cleartext in development only (NB-8).
    public var api: Origin
    /// `api.choose`: whether a person chooses the server, at first start and again whenever they wish; `api.origin` is then
    /// only what is proposed. An address from the environment leaves nothing to choose. Default false.
    public var choosesServer: Bool
    /// `api.probe`: the path by which a chosen server shows that it is one, by answering with success. Example: `/info`.
    /// Default the server half's configuration, `/api/v1.0/config/`, whose content is looked at.
    public var serverProbe: String?
    /// What is proposed where a person chooses the server: `api.origin`, later what they chose last.
    package var proposedServer: Origin?
    /// The account that is shown, where the app has several; nil is the first one.
    package var account: String?
    /// The server whose data lies where an app without `api.choose` keeps it (`HomeServer`).
    package var homeServer: Origin?
    /// `api.media`: path prefixes whose pictures, sounds and films any frame may show (NB-12). Default none.
    public var media: [String]
    /// `api.authorities`: a PEM file beside `nacre.json` of authorities, a company's own say, that are believed for the API
    /// in addition to the system's. Example: `company-ca.pem`. Default none.
    public var authorities: String?
    /// `NACRE_API_CA_FILE`: a PEM file of authorities to believe for the API instead of the system's, for a test server's
    /// own certificate. In development only. Default none.
    public var apiAuthorities: String?
    /// `signIn.kind`: `handoff`, the sign-in through the system browser (HO-1). Default `handoff`.
    public var signIn: SignInKind
    /// `signIn.clearWebData`: whether the page's web storage is cleared at sign-out, for bundles that keep something of the
    /// person there (SE-1). Default false.
    public var clearsWebData: Bool
    /// `updates`: updates over the air; nil where the build names no key.
    package var updates: UpdateConfiguration?

    /// `accounts`: whether a person may use the app with several accounts, each with a session and data of its own. Default
    /// false.
    public var hasAccounts: Bool

    /// Whether development's liberties hold: cleartext, a development server, the web inspector.
    public var isDevelopment: Bool

    /// How a person signs in.
    public enum SignInKind: String, Sendable {
        case handoff
    }
}

extension AppConfiguration {
    /// Reads the text of a `nacre.json`.
    ///
    /// - Parameters:
    ///   - environment: the process's environment; an empty value counts as unset.
    ///   - isDevelopment: whether this is a development run.
    /// - Throws: `configuration.*` that names the key, `json.malformed`.
    public init(
        parsing text: String, file: String = "nacre.json", environment: [String: String], isDevelopment: Bool
    ) throws(NacreError) {
        let value = try JSONParser.parse(text)
        try SecretLiterals.refuse(value, file: file)
        let names = SeedEnvironment(environment)
        try names.refusePrivateKey()
        self.isDevelopment = isDevelopment

        var top = try ConfigurationReader(value, file: file)
        guard var app = try top.object("app") else { throw top.fault("app", "is missing; see the documentation.") }
        if let id = names["MOBILE_APP_ID"] {
            _ = try app.string("id")
            self.id = id
        } else {
            id = try app.requiredString("id", example: "org.example.messages")
        }
        if let fault = Self.fault(id: id) { throw app.fault("id", fault) }
        if let name = names["MOBILE_APP_NAME"] {
            _ = try app.string("name")
            self.name = name
        } else {
            name = try app.requiredString("name", example: "Messages")
        }
        version = try app.requiredString("version", example: "1.0.0")
        let number = try app.integer("build", in: 1...2_100_000_000).map(String.init)
        build = names["MOBILE_VERSION_CODE"] ?? number ?? "1"
        guard Int64(build) != nil else { throw app.fault("build", "(or MOBILE_VERSION_CODE) must be a number.") }
        let written = try app.string("scheme")
        scheme = names["MOBILE_AUTH_SCHEME"] ?? written ?? "stmessages"
        if let fault = LinkScheme.fault(scheme) { throw app.fault("scheme", fault) }
        origin = try Self.origin(app.string("origin") ?? "https://localhost", "origin", app)
        guard origin.scheme == "https" else {
            throw app.fault("origin", "must be an https origin such as https://localhost; it is never looked up.")
        }
        try app.finish()

        var bundle = try Self.section("bundle", of: &top, file)
        bundlePath = try bundle.string("path") ?? "dist"
        guard !bundlePath.isEmpty, !bundlePath.split(separator: "/").contains("..") else {
            throw bundle.fault("path", "must be a folder beside \(file), such as \"dist\".")
        }
        bundleVersion = try bundle.string("version") ?? version
        let writtenServer = try bundle.string("devServer")
        if let server = names["MOBILE_DEV_SERVER_URL"] ?? writtenServer {
            devServer = try Self.origin(server, "devServer", bundle)
        }
        serviceWorker = try bundle.bool("serviceWorker") ?? false
        stamp = names["SOURCE_VERSION"] ?? names["MOBILE_OTA_BUILD_ID"] ?? "dev"
        try bundle.finish()

        guard var api = try top.object("api") else {
            throw top.fault("api", "is missing; write at least {\"origin\": \"https://mail.example.org\"}.")
        }
        let inFile = try api.string("origin")
        let given = names["NEXT_PUBLIC_API_ORIGIN"] ?? names["CAP_API_URL"]
        choosesServer = try api.bool("choose") ?? false && given == nil
        serverProbe = try api.string("probe")
        guard serverProbe.map({ $0.hasPrefix("/") }) ?? true else {
            throw api.fault("probe", "must be a path such as /info.")
        }
        if let text = given ?? inFile, !text.isEmpty {
            self.api = try Self.origin(text, "origin", api)
            proposedServer = choosesServer ? self.api : nil
        } else if choosesServer {
            self.api = Self.noServer
        } else {
            throw api.fault(
                "origin",
                "is missing; write for example \"https://mail.example.org\", or \"choose\": true where a person chooses it."
            )
        }
        // Web storage hangs on the page's origin, which cannot follow a server that is known later.
        guard !choosesServer || origin == Origin(scheme: "https", host: "localhost", port: 443) else {
            throw api.fault("choose", "needs the page at https://localhost; leave \"app.origin\" out.")
        }
        media = try api.strings("media") ?? []
        guard media.allSatisfy({ $0.hasPrefix("/") }) else {
            throw api.fault("media", "must hold paths such as /media/.")
        }
        authorities = try api.string("authorities")
        if let authorities, authorities.hasPrefix("/") || authorities.split(separator: "/").contains("..") {
            throw api.fault("authorities", "must be a PEM file beside \(file), such as \"company-ca.pem\".")
        }
        // Kept by the app in every case (NB-3); said in the file for the bundle's other shells.
        _ = try api.string("csrf")
        try api.finish()
        apiAuthorities = names["NACRE_API_CA_FILE"]

        var signIn = try Self.section("signIn", of: &top, file)
        let kind = try signIn.string("kind") ?? SignInKind.handoff.rawValue
        guard let known = SignInKind(rawValue: kind) else {
            throw signIn.fault("kind", "must be \"handoff\", not \"\(kind)\".")
        }
        self.signIn = known
        clearsWebData = try signIn.bool("clearWebData") ?? false
        try signIn.finish()
        hasAccounts = try top.bool("accounts") ?? false
        updates = try UpdateConfiguration.read(&top, file, names)
        // Read by the part of the toolkit that owns it.
        _ = top.value("push")
        try top.finish()
        if updates != nil {
            do throws(NacreError) {
                _ = try NativeVersion(version)
            } catch {
                throw NacreError(
                    "configuration.value",
                    "\(file): \"app.version\" must be numbers such as 1.2.0, for updates name the versions they fit.")
            }
        }
        try refuseCleartext(file)
    }

    /// NB-8: a release speaks TLS only, with whom the system trusts, and runs its own bundle.
    private func refuseCleartext(_ file: String) throws(NacreError) {
        guard !isDevelopment else { return }
        guard api.scheme == "https" else {  // guard: configuration-cleartext-api
            throw NacreError(
                "configuration.cleartext",
                "\(file): \"api.origin\" is \(api), without TLS; a release needs https (development: NACRE_ENV=development)."
            )
        }
        guard devServer == nil else {  // guard: configuration-release-dev-server
            throw NacreError(
                "configuration.dev_server",
                "\(file): a development server (bundle.devServer, MOBILE_DEV_SERVER_URL) is set; a release runs its bundle."
            )
        }
        guard apiAuthorities == nil else {  // guard: configuration-release-authorities
            throw NacreError(
                "configuration.authorities",
                "NACRE_API_CA_FILE is set; a release believes the system's authorities only.")
        }
    }

    /// Stands for the server while none is chosen; a name that never resolves (RFC 2606).
    package static let noServer = Origin(scheme: "https", host: "server.invalid", port: 443)

    /// A section that may be left out.
    private static func section(
        _ key: String, of top: inout ConfigurationReader, _ file: String
    ) throws(NacreError) -> ConfigurationReader {
        if let found = try top.object(key) { return found }
        return try ConfigurationReader([:], file: file, path: key)
    }

    private static func origin(
        _ text: String, _ key: String, _ reader: ConfigurationReader
    ) throws(NacreError) -> Origin {
        do throws(NacreError) {
            return try Origin(text)
        } catch {
            throw reader.fault(key, "must be an absolute origin such as https://mail.example.org. \(error.message)")
        }
    }

    /// The id names files, a bus name and a desktop entry: reverse DNS, two parts at least.
    private static func fault(id: String) -> String? {
        let parts = id.split(separator: ".", omittingEmptySubsequences: false)
        let isGood =
            parts.count >= 2 && id.utf8.count <= 200
            && parts.allSatisfy { part in
                guard let first = part.utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else {
                    return false
                }
                return part.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }
            }
        return isGood ? nil : "must be a reverse-DNS name such as org.example.messages."
    }

    /// The API's origin as the page must address it: always https, for a secure page calls no cleartext address; the
    /// page channel maps it back (design, "The page channel").
    public var visibleAPI: Origin {
        api.scheme == "https" ? api : Origin(scheme: "https", host: api.host, port: api.port == 80 ? 443 : api.port)
    }

    /// `nacre.version` (UP-11), such as `app 1.2.0 (42) · web 0.1.0 (a1b2c3d) · linux`.
    ///
    /// - Parameter running: what is served now; the bundle inside the app where it is nil.
    package func versionReport(platform: String, running: BootedBundle? = nil) -> JSONValue {
        let web = running?.version ?? bundleVersion
        let stamp = running?.stamp ?? stamp
        return [
            "native": ["version": .string(version), "build": .string(build)],
            "web": ["version": .string(web), "stamp": .string(stamp)], "platform": .string(platform),
            "report": .string("app \(version) (\(build)) · web \(web) (\(stamp)) · \(platform)"),
        ]
    }
}

/// The environment names of the source systems; empty means unset.
struct SeedEnvironment {
    private let values: [String: String]

    init(_ values: [String: String]) { self.values = values }

    subscript(name: String) -> String? {
        guard let value = values[name], !value.isEmpty else { return nil }
        return value
    }

    /// A key that signs updates has no business where an app is built or run.
    func refusePrivateKey() throws(NacreError) {
        guard self["MOBILE_OTA_SIGNING_PRIVATE_KEY_B64"] == nil else {  // guard: configuration-private-key
            throw NacreError(
                "configuration.secret",
                "MOBILE_OTA_SIGNING_PRIVATE_KEY_B64 is set where an app is run; only the publishing job may have it.")
        }
    }
}
