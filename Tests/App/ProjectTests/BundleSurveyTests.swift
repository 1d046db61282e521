// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreProject
import Testing

@Suite("nacre init looks into the bundle")
struct BundleSurveyTests {
    private static func notes(_ page: String, _ more: [String: String] = [:]) throws -> [ProjectNote] {
        var files = ["www/index.html": page, "www/main.js": "", "package.json": "{}"]
        files.merge(more, uniquingKeysWith: { $1 })
        return try ProjectInitTests.make(files).notes.filter {
            $0.key.hasPrefix("www") || $0.key.hasPrefix("package.json:")
        }
    }

    static let pages: [(String, ProjectNote.Kind, String)] = [
        ("<script>a()</script><script>b()</script>", .needless, "2 inline scripts"),
        ("<script>a()</script>", .needless, "1 inline script:"),
        ("<body onload='a()'>", .look, "1 attribute with a script"),
        ("<script src='/static/main.js'></script>", .look, "/static/main.js, which is not in the bundle"),
        ("<link rel=stylesheet href=main.css?v=1>", .look, "main.css?v=1, which is not in the bundle"),
        ("<script src='https://cdn.example.com/a.js'></script>", .look, "allows the bundle's own only"),
        ("<script src='//cdn.example.com/a.js'></script>", .look, "allows the bundle's own only"),
        ("<img src='http://cdn.example.com/a.png'>", .look, "cleartext"),
        ("<base href='/app/'><script src='main.js'></script>", .look, "is built for /app/"),
        ("<script src='{% static \"main.js\" %}'></script>", .look, "a server fills this page in"),
        (
            "<meta http-equiv=content-security-policy content=\"script-src 'self'\"><script>a()</script>", .needless,
            "kept as it is"
        ),
    ]

    @Test("What the page will meet in the shell (NB-10)", arguments: pages)
    func page(html: String, kind: ProjectNote.Kind, words: String) throws {
        let notes = try Self.notes(html)
        #expect(notes.contains { $0.kind == kind && $0.reason.contains(words) }, "\(notes)")
    }

    static let quietPages: [String] = [
        "<script src=/main.js></script>", "<script src=./main.js?v=1#x></script>",
        "<base href=/><script src=main.js></script>",
        "<img src=data:image/png;base64,AA>", "<link rel=preconnect href=https://fonts.example.com>",
        "<link href=/settings/>",
        "<img src='https://cdn.example.com/a.png'>", "<!-- <script src=gone.js></script> -->",
    ]

    @Test("A page that will work is not remarked upon", arguments: quietPages)
    func quiet(html: String) throws { #expect(try Self.notes(html) == []) }

    static let scripts: [(String, String, ProjectNote.Kind)] = [
        ("const A = registerPlugin('App', {})", "uses App", .needless),
        ("const A=(0,r.registerPlugin)(\"App\",{web:()=>1})", "uses App", .needless),
        ("const x=Ue(\"Preferences\",{web:()=>n(1)})", "uses Preferences", .needless),
        ("Xe(`Device`, { web: f })", "uses Device", .needless),
        ("registerPlugin( 'Health' )", "plugin Health", .lost),
        ("k(\"BarcodeScanner\",{web:a})", "plugin BarcodeScanner", .lost),
        ("navigator.serviceWorker.register('/sw.js')", "service worker", .look),
        ("new Function('return this')()", "new Function", .look), ("(0,eval)('1');eval('2')", "eval", .look),
    ]

    @Test("NB-9: plugins, service worker and code from text are found in built scripts", arguments: scripts)
    func script(text: String, words: String, kind: ProjectNote.Kind) throws {
        let notes = try Self.notes("<script src=main.js></script>", ["www/a/chunk.js": text])
        #expect(notes.count == 1)
        #expect(notes.contains { $0.kind == kind && $0.reason.contains(words) }, "\(notes)")
    }

    static let quietScripts = [
        "t(\"Cancel\")", "f(\"App\",{a:1})", "registerPlugin(name)", "medieval('x')", "registerPlugin(\"",
        "x(\"A\",{web",
        "serviceWorker.ready", "on('Click',{web:1", "/* eval */",
    ]

    @Test("Other calls are not taken for plugins", arguments: quietScripts)
    func other(text: String) throws {
        let notes = try Self.notes("", ["www/chunk.js": text])
        #expect(notes.allSatisfy { $0.reason.contains("plugin Click") }, "\(notes)")
    }

    static let packages: [(String, String?)] = [
        ("@capacitor/core", nil), ("@capacitor/app", nil), ("@capacitor/cli", nil), ("react", nil),
        ("@capacitor/geolocation", "plugin Geolocation"), ("@capacitor/push-notifications", "plugin PushNotifications"),
        ("@capacitor-community/sqlite", "of this package"), ("@capgo/capacitor-updater", "plugin CapacitorUpdater"),
    ]

    @Test("The plugins that package.json asks for are checked too", arguments: packages)
    func package(name: String, words: String?) throws {
        let notes = try Self.notes("", ["package.json": "{\"dependencies\":{\"\(name)\":\"^8\"}}"])
        #expect(notes.count == (words == nil ? 0 : 1))
        if let words { #expect(notes.first?.reason.contains(words) ?? false) }
    }
}
