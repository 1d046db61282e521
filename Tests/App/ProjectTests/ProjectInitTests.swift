// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreApp
import NacreCore
import NacreHTTP
import NacreProject
import Testing

@Suite("nacre init: nacre.json from an existing project")
struct ProjectInitTests {
    static let plugins: Set<String> = ["App", "Browser", "Preferences", "Device", "Keyboard"]

    static let page = "<!doctype html><title>My Mail</title><script type=module src=/assets/main.js></script>"

    /// The configuration of a mail client that has been an app for a while.
    static let mail = """
        import type { CapacitorConfig } from '@capacitor/cli';
        import { KeyboardResize } from '@capacitor/keyboard';

        const devServer = process.env.MOBILE_DEV_SERVER_URL;

        const config: CapacitorConfig = {
          appId: process.env.MOBILE_APP_ID ?? 'local.suitenumerique.messages',
          appName: process.env.APP_NAME || 'ST Messages',
          appVersion: '1.2.0',
          webDir: './dist/',
          includePlugins: ['@capacitor/app', '@capgo/capacitor-updater'],
          server: {
            url: devServer,
            cleartext: process.env.MOBILE_ALLOW_CLEARTEXT_FOR_DEV === '1',
            androidScheme: 'https',
            allowNavigation: ['mail.example.org', '*.example.net'],
          },
          plugins: {
            CapacitorHttp: { enabled: true },
            SystemBars: { insetsHandling: 'disable' },
            Keyboard: { resize: KeyboardResize.None },
            CapacitorUpdater: { autoUpdate: false, publicKey: process.env.MOBILE_OTA_SIGNING_PUBLIC_KEY_B64 ? decode() : undefined },
            GoogleAuth: { scopes: ['profile'] },
          },
          android: { allowMixedContent: true, buildOptions: { keystorePassword: 'hunter2' } },
          ...extra,
        };

        export default config;
        """

    static func make(
        _ files: [String: String], api: String? = "https://mail.example.org", environment: [String: String] = [:],
        folder: String = "mail"
    ) throws(NacreError) -> ProjectInit {
        let made = try ProjectInit(
            MemoryFiles(files), folderName: folder, api: api, environment: environment, plugins: plugins)
        // Whatever is proposed is what `nacre run` reads.
        _ = try AppConfiguration(
            parsing: made.draft.text, environment: [:], isDevelopment: made.draft.api.hasPrefix("http:"))
        return made
    }

    static func fault(_ files: [String: String], api: String? = "https://mail.example.org") -> NacreError? {
        do throws(NacreError) {
            _ = try make(files, api: api)
            return nil
        } catch { return error }
    }

    private func note(_ made: ProjectInit, _ key: String) -> ProjectNote? { made.notes.first { $0.key == key } }

    @Test("The configuration of an app of years becomes a nacre.json, and every setting of it is answered for")
    func whole() throws {
        let made = try Self.make([
            "capacitor.config.ts": Self.mail, "dist/index.html": Self.page, "dist/assets/main.js": "",
        ])
        var expectedDraft = ProjectDraft()
        expectedDraft.id = "local.suitenumerique.messages"
        expectedDraft.name = "ST Messages"
        expectedDraft.version = "1.2.0"
        expectedDraft.scheme = "local.suitenumerique.messages"
        expectedDraft.origin = "https://app.mail.example.org"
        expectedDraft.bundlePath = "dist"
        expectedDraft.api = "https://mail.example.org"
        #expect(made.draft == expectedDraft)
        let kinds = Dictionary(made.notes.map { ($0.key, $0.kind) }, uniquingKeysWith: { first, _ in first })
        let expected: [String: ProjectNote.Kind] = [
            "appId": .carried, "appName": .carried, "appVersion": .carried, "webDir": .carried, "includePlugins": .lost,
            "server.url": .lost, "server.cleartext": .needless, "server.androidScheme": .needless,
            "server.allowNavigation": .lost, "plugins.CapacitorHttp.enabled": .needless,
            "plugins.SystemBars.insetsHandling": .needless, "plugins.Keyboard.resize": .lost,
            "plugins.CapacitorUpdater.autoUpdate": .lost, "plugins.CapacitorUpdater.publicKey": .lost,
            "plugins.GoogleAuth.scopes": .lost, "android.allowMixedContent": .lost,
            "android.buildOptions.keystorePassword": .lost, "...extra": .lost,
        ]
        for (key, kind) in expected { #expect(kinds[key] == kind, "\(key)") }
        #expect(made.sources == ["capacitor.config.ts", "dist (2 files)"])
        let report = ProjectReport.text(made)
        #expect(!report.contains("hunter2"), "no value of the old configuration is repeated where it may be a secret")
        #expect(report.contains("set MOBILE_APP_NAME where APP_NAME was set"))
        #expect(report.contains("MOBILE_APP_ID, when it is set, goes over it here too"))
        #expect(report.contains("Nacre has no plugin for @capgo/capacitor-updater"))
        #expect(report.contains("nacre run --dev-server URL"))
    }

    @Test("A JSON configuration gives the same as a script")
    func json() throws {
        let made = try Self.make([
            "capacitor.config.json":
                #"{"appId":"org.example.mail","appName":"Mail","webDir":"www","server":{"hostname":"app.example.org"}}"#,
            "www/index.html": Self.page, "www/assets/main.js": "",
        ])
        #expect(made.draft.id == "org.example.mail" && made.draft.name == "Mail" && made.draft.bundlePath == "www")
        #expect(made.draft.origin == "https://app.example.org", "the old origin is one site with the backend")
    }

    @Test("A built bundle alone is enough: names come from it and from the backend")
    func bundle() throws {
        let made = try Self.make([
            "build/index.html": Self.page, "build/assets/main.js": "", "package.json": #"{"version":"2.1.0"}"#,
            "build/manifest.webmanifest": #"{"name":"Mail for All"}"#,
        ])
        #expect(made.draft.bundlePath == "build" && made.draft.name == "Mail for All" && made.draft.version == "2.1.0")
        #expect(made.draft.id == "org.example.mail" && made.draft.scheme == "org.example.mail")
        #expect(
            ["app.id", "app.name", "app.scheme", "app.origin", "bundle.path"].allSatisfy {
                note(made, $0)?.kind == .look
            })
    }

    static let bundles: [([String], String)] = [
        (["dist/index.html", "build/index.html"], "dist"), (["www/index.html"], "www"), (["index.html"], "."),
        (["dist/mail/browser/index.html"], "dist/mail/browser"), (["dist/mail/index.html"], "dist/mail"),
        ([".output/public/index.html"], ".output/public"), ([], "dist"), (["dist/main.js"], "dist"),
    ]

    @Test("The built bundle is found where builders put it", arguments: bundles)
    func find(files: [String], path: String) throws {
        let made = try Self.make(Dictionary(uniqueKeysWithValues: files.map { ($0, Self.page) }))
        #expect(made.draft.bundlePath == path)
        let hasPage = files.contains { $0.hasSuffix("index.html") }
        #expect(made.notes.contains { $0.reason.contains("no index.html") } == !hasPage)
    }

    static let directories: [(String, String)] = [
        ("'../web/dist'", "dist"), ("'/srv/dist'", "dist"), ("'C:\\\\dist'", "dist"), ("process.env.OUT", "dist"),
        ("'web\\\\dist'", "web/dist"), ("'./a//b/'", "a/b"), ("process.env.OUT ?? 'www'", "www"), ("'.'", "."),
    ]

    @Test("webDir must lie beside nacre.json; what does not is said", arguments: directories)
    func directory(text: String, path: String) throws {
        let made = try Self.make(["capacitor.config.js": "module.exports = { webDir: \(text) }"])
        #expect(made.draft.bundlePath == path)
        #expect((note(made, "webDir")?.kind == .look) == (path == "dist"))
    }

    static let origins: [(String, String?, String)] = [
        ("https://mail.example.org", nil, "https://app.mail.example.org"),
        ("https://mail.example.org:8443", nil, "https://app.mail.example.org"),
        ("http://localhost:8901", nil, "https://localhost"), ("https://192.0.2.1", nil, "https://localhost"),
        ("https://[2001:db8::1]:8", nil, "https://localhost"), ("https://github.io", nil, "https://localhost"),
        ("https://mail.example.org", "app.example.org", "https://app.example.org"),
        ("https://mail.example.org", "app.example.net", "https://app.mail.example.org"),
        ("https://mail.example.org", "mail.example.org", "https://app.mail.example.org"),
        ("https://mail.example.org", "localhost", "https://app.mail.example.org"),
        ("http://localhost:8901", "localhost", "https://localhost"),
        ("https://mail.example.org", "bad host", "https://app.mail.example.org"),
    ]

    @Test("SH-1: the page's origin is one site with the backend where that can be", arguments: origins)
    func origin(api: String, hostname: String?, origin: String) throws {
        let server = hostname.map { "server: { hostname: '\($0)' }" } ?? ""
        let made = try Self.make(["capacitor.config.ts": "export default { \(server) }"], api: api)
        #expect(made.draft.origin == origin)
        if let hostname {
            #expect(note(made, "server.hostname")?.kind == (origin == "https://\(hostname)" ? .carried : .lost))
        }
    }

    static let schemes: [(String, String, String?)] = [
        ("org.example.Mail_App", "org.example.mail-app", nil), ("org.example.mail", "stmail", "stmail"),
        ("org.example.mail", "org.example.mail", "St_Mail"), ("_a.b", "app.-a.b", nil),
    ]

    @Test("SH-4: the proposed scheme keeps to the grammar", arguments: schemes)
    func scheme(id: String, scheme: String, set: String?) throws {
        let made = try Self.make(
            ["capacitor.config.ts": "export default { appId: '\(id)' }"],
            environment: set.map { ["MOBILE_AUTH_SCHEME": $0] } ?? [:])
        #expect(made.draft.scheme == scheme && made.draft.id == id)
    }

    @Test(
        "Where a person chooses the server none is needed, one is proposed, and the page stays at https://localhost",
        arguments: [nil, "https://demo.example.org"] as [String?])
    func chosen(_ api: String?) throws {
        let files = [
            "capacitor.config.json": #"{"server": {"hostname": "app.example.org"}}"#, "dist/index.html": Self.page,
            "dist/assets/main.js": "",
        ]
        let made = try ProjectInit(
            MemoryFiles(files), folderName: "mail", api: api, environment: [:], choosesServer: true,
            plugins: Self.plugins)
        let read = try AppConfiguration(parsing: made.draft.text, environment: [:], isDevelopment: false)
        #expect(read.choosesServer && read.proposedServer?.description == api && read.needsServer == (api == nil))
        #expect(made.draft.origin == "https://localhost")
        #expect(made.draft.id == (api == nil ? "local.mymail" : "org.example.demo"))
        #expect(note(made, "server.hostname")?.kind == .lost)
        #expect(note(made, "app.origin")?.reason.contains("a person chooses") == true)
    }

    @Test("Without a backend the person is asked for it; the configuration's hosts are offered")
    func missing() throws {
        let error = try #require(Self.fault(["capacitor.config.ts": Self.mail], api: nil))
        #expect(error.code == "init.api" && error.message.contains("--api https://mail.example.org"))
        #expect(error.message.contains("mentions https://mail.example.org:"))
        for wrong in ["mail.example.org", "https://mail.example.org/api", "ftp://mail.example.org", ""] {
            #expect(Self.fault([:], api: wrong)?.code == "usage", "\(wrong)")
        }
        #expect(
            try Self.make([:], api: nil, environment: ["CAP_API_URL": "https://b.example.org"]).draft.api
                == "https://b.example.org")
    }

    /// A public key whose private half nobody has kept: the reader of nacre.json takes no other text for one.
    static let publicKey =
        "LS0tLS1CRUdJTiBSU0EgUFVCTElDIEtFWS0tLS0tCk1JSUJDZ0tDQVFFQXVNRHVxQ3BKRFQwOVhuRGF3RC96bER3MnFwd2VL"
        + "UzlyaWs1UVpNaDZRNmVVZlNqcm92RXYKN1M2UjJVVFA2eVM4YUhsNlJVaUYrd0dMVDJvOUEybTgvbUJYRWxaUDZqMldqVGxD"
        + "Q2ZsY0xGYTVQTVJadGV2bwo1dm8yczZDTkxYT20ybFRTN1ozcFJrQ0RjNjhnUWprNHpQYzZ5TVI5czRldk42VkxEb3hBZHg5"
        + "OFlpazN0eWNSCk0xV0lNM3dBSmJxcmZrczBYQ3B6azl3RG5oV2FEVW13bjNGQkgzLzZ2RGtLZFlneE1TTWJuOU5JWVJJa3Fn"
        + "dmkKZUFwa2l2RDZqUXN4TVpwbjd6dkhSOUlRQUFINHo2akd3U1duZFFlYlN2aTY2OFMrWUR5K2pPdmtOK1hBN0xMSApYUW5V"
        + "cUF4UWZNSGllMm5KdngzZFh0eXEyekMvWHBUbWJRSURBUUFCCi0tLS0tRU5EIFJTQSBQVUJMSUMgS0VZLS0tLS0K"
    static let publicPEM = String(decoding: Base64.decode(publicKey) ?? [], as: UTF8.self)

    static let keys: [(String, [String: String], String?)] = [
        ("'" + publicPEM.split(separator: "\n").joined(separator: "\\n") + "\\n'", [:], publicPEM),
        (
            "process.env.MOBILE_OTA_SIGNING_PUBLIC_KEY_B64", ["MOBILE_OTA_SIGNING_PUBLIC_KEY_B64": publicKey], publicPEM
        ),
        ("f(process.env.MOBILE_OTA_SIGNING_PUBLIC_KEY_B64)", [:], nil),
        (
            "process.env.MOBILE_OTA_SIGNING_PUBLIC_KEY_B64",
            ["MOBILE_OTA_SIGNING_PUBLIC_KEY_B64": "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0t"], nil
        ),
        ("read('key.pem')", [:], nil),
    ]

    @Test("UP-1: the public key of updates comes along, from the file or from the environment", arguments: keys)
    func key(text: String, environment: [String: String], key: String?) throws {
        let made = try Self.make(
            ["capacitor.config.ts": "export default { plugins: { CapacitorUpdater: { publicKey: \(text) } } }"],
            environment: environment)
        #expect(made.draft.publicKey == key)
        #expect(note(made, "plugins.CapacitorUpdater.publicKey")?.kind == (key == nil ? .lost : .carried))
    }

    @Test("A private key does not come along and is not repeated")
    func privateKey() throws {
        let made = try Self.make([
            "capacitor.config.ts":
                "export default { plugins: { CapacitorUpdater: { publicKey: '-----BEGIN PRIVATE KEY-----MII' } } }"
        ])
        #expect(made.draft.publicKey == nil && !made.draft.text.contains("PRIVATE"))
        let said = try #require(note(made, "plugins.CapacitorUpdater.publicKey"))
        #expect(said.kind == .lost && said.reason.contains("private key"))
        #expect(!ProjectReport.text(made).contains("MII"))
    }

    static let undecided: [(String, String, String)] = [
        ("server: process.env.MOBILE_DEV_SERVER_URL ? { url: 'x' } : undefined", "server", "--dev-server"),
        ("server: process.env.DEV ? { url: 'x' } : undefined", "server", "it looks at DEV"),
        ("server: { url: process.env.DEV_URL }", "server.url", "instead of DEV_URL"),
        ("appId: makeId()", "appId", "is decided when the file runs"), ("appId: 7", "appId", "is not a text"),
        ("appId: process.env.APP_ID", "appId", "set MOBILE_APP_ID where APP_ID was set"),
        ("appId: 'Mail'", "appId", "no reverse-DNS name"), ("[key]: 1", "[key] : 1", "is decided when the file runs"),
        ("frobnicate: true", "frobnicate", "no setting"),
        ("server: { frobnicate: 1 }", "server.frobnicate", "no such setting"),
        ("ios: { contentInset: 'always' }", "ios.contentInset", "iOS project"), ("cordova: {}", "cordova", "Cordova"),
        ("plugins: { Keyboard: { style: 'DARK' } }", "plugins.Keyboard.style", "at run time"),
        ("plugins: { Device: { x: 1 } }", "plugins.Device.x", "takes no settings"),
        ("server: { androidScheme: 'http' }", "server.androidScheme", "always served by https"),
        ("backgroundColor: '#fff'", "backgroundColor", "CSS"),
    ]

    @Test("What could not be carried over is said key by key, with the reason and what to do", arguments: undecided)
    func said(text: String, key: String, words: String) throws {
        let made = try Self.make(["capacitor.config.ts": "export default { \(text) }"])
        let said = made.notes.filter { $0.key == key }
        #expect(!said.isEmpty)
        #expect(said.contains { ($0.reason + " " + ($0.remedy ?? "")).contains(words) }, "\(said)")
    }

    @Test("Capacitor's own order of files is kept, and the others are said")
    func order() throws {
        let made = try Self.make([
            "capacitor.config.ts": "export default { appName: 'A' }", "capacitor.config.json": #"{"appName":"B"}"#,
        ])
        #expect(made.draft.name == "A" && note(made, "capacitor.config.json")?.kind == .look)
    }

    @Test("A configuration that cannot be read is an error, never half a file")
    func broken() {
        #expect(Self.fault(["capacitor.config.ts": "export default { appId: 'a }"])?.code == "init.script")
        #expect(Self.fault(["capacitor.config.json": "{\"appId\":}"])?.code == "json.malformed")
        #expect(Self.fault(["capacitor.config.json": "[]"])?.code == "init.no_configuration")
        #expect(Self.fault(["capacitor.config.ts": "export default make()"])?.code == "init.no_configuration")
    }

    @Test("What a project says cannot move the terminal's cursor")
    func terminal() throws {
        let made = try Self.make(["capacitor.config.json": #"{"a\u001b[2Jb\u202e":1}"#])
        let report = ProjectReport.text(made)
        #expect(report.contains("a\u{FFFD}[2Jb\u{FFFD}") && !report.contains("\u{1B}") && !report.contains("\u{202E}"))
    }
}
