// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacrePlugins
import NacrePorts
import NacreSignIn
import NacreWire
import Synchronization
import Testing

@testable import NacreApp

@Suite("Problem reports: what a person hands to somebody who is to help")
struct ProblemReportTests {
    /// Each holds a secret word that must not come through, in a way in which a page or a server may have said it.
    static let secrets: [(text: String, secret: String)] = [
        ("GET /x failed with Authorization: Bearer s3cretvalue", "s3cretvalue"),
        (#"{"token":"abc123","other":1}"#, "abc123"),
        ("password=hunter2&page=3", "hunter2"),
        ("csrf_token: 'q9'", "q9"),
        ("Cookie: theme=dark; session=zzz; more=yyy", "yyy"),
        ("Set-Cookie: sid=s%3Aabc; Path=/", "s%3Aabc"),
        ("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc here", "eyJzdWIiOiIxIn0"),
        ("id 6fa459ea-ee8a-3ca4-894e-db77e160355e gone", "6fa459ea-ee8a-3ca4-894e-db77e160355e"),
        ("key AKIAIOSFODNN7EXAMPLE4 used", "AKIAIOSFODNN7EXAMPLE4"),
        ("mail to ada@example.org bounced", "ada@example.org"),
        ("no such file /home/ada/Documents/x.txt", "/home/ada"),
        ("Lovelace, Ada Lovelace was refused", "Ada Lovelace"),
        // A value goes as far as its kind does.
        ("password: correct horse battery", "horse"),
        ("password: correct horse battery, page: 3", "battery"),
        ("password=hun$ter2", "$ter2"),
        ("password: one,two", "two"),
        (#"{"password": "correct \"horse\" battery", "page": 3}"#, "horse"),
        (#"{"message":"{\"password\":\"a\\\"horse\",\"page\":3}"}"#, "horse"),
        (#"{"message":"the tokens: [\"abc\",\"horse\"]"}"#, "horse"),
        ("Mot de passe : cheval correct", "cheval"),
        ("csrf_token: 'l'horse'", "horse"),
        (#"Cookie: a="1"; sid=abc"#, "abc"),
        (#"{"message":"Cookie: a=\"1\"; b=horse"}"#, "horse"),
        (#"Authorization: Digest username="me", response="horse""#, "horse"),
        ("the bearer token: horse", "horse"),
        // What is encoded says the same.
        (#""path":"/api/v1.0/users/ada%40example.org/""#, "ada%40example.org"),
        ("next=%2Fmail%3Ftoken%3Dhorse", "horse"),
        ("next=%252Fmail%253Ftoken%253Dhorse", "horse"),
        ("GET /people?name=Ada+Lovelace", "Ada+Lovelace"),
        ("GET /people/ada%20lovelace", "lovelace"),
        // More names.
        ("GET /auth/callback?code=482913", "482913"),
        ("GET /auth/callback?a=1&state=horse HTTP/1.1", "horse"),
        ("the code: 482913 was sent", "482913"),
        (#"{"message":"{\"code\":\"482913\"}"}"#, "482913"),
        ("pin=4711", "4711"),
        ("userPin: 4711", "4711"),
        ("X-Api-Key: abc", "abc"),
        ("passphrase=horse", "horse"),
        // Base64 has slashes.
        ("tried q83vEjRWeJCrze8/AbCdEg== again", "q83vEjRWeJCrze8"),
        ("GET /reset/q83vEjRWeJCrze8/AbCdEg/", "q83vEjRWeJCrze8"),
        ("tried q83vEjRWeJCrze8%2FAbCdEg%3D%3D again", "q83vEjRWeJCrze8"),
        ("no user ADA LOVELACE", "ADA LOVELACE"),
        ("ADA LOVELACE is not Ada Lovelace", "ADA LOVELACE"),
    ]

    @Test("What looks like a secret, and what is the person's own, does not come through", arguments: secrets)
    func cleaned(_ text: String, _ secret: String) {
        let cleaned = ReportText(personal: ["/home/ada", "Ada Lovelace"]).clean(text)
        #expect(text.contains(secret) && !cleaned.contains(secret), "\(cleaned)")
    }

    @Test("A name that is a part of the mark is taken out once", arguments: ["…", "[…]", "[…", "…]"])
    func ownMark(_ name: String) {
        let cleaned = ReportText(personal: ["/home/ada", name]).clean("/home/ada/x: no mailbox of \(name) here")
        #expect(cleaned.utf8.count < 200)
    }

    @Test(
        "What helps stays as it is",
        arguments: [
            "The response could not be sent whole. (NacreListener/ResponseWriter.swift:48)", "app 1.2.0 (42) · linux",
            "transport.tls at 1796057110031", "GET /api/v1.0/threads/17/ 502", "Das Paßwort fehlt; 日本",
            #"{"at":1796057110031,"level":"error","label":"secrets","event":"transport.tls","code":"transport.tls"}"#,
            "(NacreSecrets/TokenStore.swift:48): no answer", "GET /api/v1.0/token/: 502 after 3 tries",
            "state: signedIn, code: 502, key: F11, flow: none", "if (code == 5) return; code => 7",
            "https://app.example.org/assets/index-B7x9aQ2k.js:1:23456",
            "/_next/static/chunks/4bd1b696-c023c6e3521b1417.js",
            "/usr/lib/x86_64-linux-gnu/libjavascriptcoregtk-4.1.so.0",
            ".local/share/org.example.mail/Session.sqlite-wal", "Sources/App/HTTP2Frames.swift:12:7",
            "/Applications/Mail2.app/Contents/Frameworks/NacreApp", "WebKitGTK 2.50.6; libsoup 3.2.3-0+deb12u2",
            "GET /fichiers/R%C3%A9union%20du%2030%20novembre.pdf 404", "100 % of 2,5 Mo in 1.5 s (+3)",
            "Le mot de passe oublié : réessayez dans 30 s",
            "Échec : le serveur ne répond pas (code 502) — l'envoi attend",
            "the spinner: pinned, 3 passes", #"{"message":"no page","file":"NacreApp/Bundle.swift:9"}"#,
        ])
    func kept(_ text: String) { #expect(ReportText(personal: []).clean(text) == text) }

    @Test(
        "What stands after a secret is still read",
        arguments: [
            ("password=hunter2&page=3", "password=[redacted]&page=3"),
            ("password: correct horse, page: 3", "password: [redacted], page: 3"),
            ("GET /x?token=abc HTTP/1.1 502", "GET /x?token=[redacted] HTTP/1.1 502"),
            ("Cookie: a=1; b=2\nHost: example.org", "Cookie: [redacted]\nHost: example.org"),
            (#"{"token":"abc123","other":1}"#, #"{"token":"[redacted]","other":1}"#),
            (#"{"a":"password: x y","b":"z"}"#, #"{"a":"password: [redacted]","b":"z"}"#),
            (#"{"a":"Cookie: x=1\nHost: y","b":"z"}"#, #"{"a":"Cookie: [redacted]\nHost: y","b":"z"}"#),
            (#"{"a":"{\"token\":\"x\",\"n\":3}","b":"z"}"#, #"{"a":"{\"token\":\"[redacted]\",\"n\":3}","b":"z"}"#),
        ])
    func goesOn(_ text: String, _ cleaned: String) { #expect(ReportText(personal: []).clean(text) == cleaned) }

    @Test("What is encoded deeper than anybody does is taken out, and not decoded to its end")
    func encodedDeep() {
        let text = "GET /%" + String(repeating: "25", count: 900) + "41"
        #expect(ReportText(personal: []).clean(text) == "GET [redacted]")
    }

    @Test("After a sign-out the report does not name who was signed in, nor their folder")
    func everybody() {
        let ada = UserProfile(id: "c0ffee", email: "ada@example.org", fullName: "Ada Lovelace", language: nil)
        let line = "ada lovelace (C0FFEE) in /home/ada/x"
        let text = report([line], [line], people: [ada], home: "/home/ada/")
        #expect(text.contains("[…] ([…]) in […]/x"), "\(text)")
        #expect(!text.lowercased().contains("lovelace") && !text.contains("C0FFEE") && !text.contains("/home/ada"))
    }

    private func report(
        _ faults: [String], _ lines: [String], people: [UserProfile] = [], updates: JSONValue? = nil,
        home: String = "/home/ada"
    ) -> String {
        ProblemReport(
            app: "Mail", id: "org.example.mail", versions: "app 1.2.0 (42) · web 0.1.0 (a1b2) · linux",
            device: DeviceFacts(
                platform: "linux", name: "host", manufacturer: "m", model: "m", systemName: "Debian",
                systemVersion: "12", isVirtual: false, language: "fr-FR", webViewVersion: "2.50.6"),
            session: SessionSnapshot(state: .signedOut, reason: .failed, keptIn: .memory), people: people,
            faults: faults, lines: lines, updates: updates, home: home
        ).text
    }

    @Test("It names versions, system, session, faults and the log's end")
    func holds() {
        let text = report(["fault one"], ["line one", "line two"])
        for part in [
            "org.example.mail", "web 0.1.0", "Debian 12", "2.50.6", "signedOut (failed)", "fault one", "line two",
        ] {
            #expect(text.contains(part), "\(part)")
        }
        #expect(report([], []).contains("Last faults: none"))
    }

    @Test("UP-7: it says why this bundle runs, in an app that has updates, and holds no secret of theirs either")
    func updates() {
        let why: JSONValue = [
            "running": ["version": "0.2.0"], "manifest": "https://b.example/m.json?token=horse",
            "decisions": [["what": "reverted", "version": "0.3.0"], ["what": "staged", "version": "0.4.0"]],
        ]
        let text = report([], [], updates: why)
        for part in ["Updates:", "0.2.0", "decisions:", "reverted", "0.4.0"] { #expect(text.contains(part), "\(part)") }
        #expect(!text.contains("horse"))
        #expect(!report([], []).contains("Updates:"))
    }

    @Test("A secret in any line of the log is not in it")
    func lines() {
        for (line, secret) in Self.secrets where !secret.lowercased().hasSuffix("lovelace") {
            #expect(!report([line], []).contains(secret))
            #expect(!report([], [line]).contains(secret))
        }
    }

    private final class Sink: LogSink {
        let count = Mutex(0)
        func write(_ record: LogRecord) { count.withLock { $0 += 1 } }
    }

    @Test("The tail keeps the last lines, the last faults longer, and hands every record on")
    func tail() {
        let sink = Sink()
        let tail = LogTail(next: sink, lines: 3, faults: 2)
        let log = Log(label: "t", sink: tail)
        log.error("first.fault")
        for number in 0..<5 { log.info("line.\(number)", ["long": .string(String(repeating: "x", count: 9000))]) }
        #expect(tail.lines.count == 3 && tail.lines.last?.contains("line.4") == true)
        #expect(tail.faults.count == 1 && tail.faults[0].contains("first.fault"))
        #expect(tail.lines.allSatisfy { $0.count <= 2000 })
        for _ in 0..<5 { log.warning("more") }
        #expect(tail.faults.count == 2 && sink.count.withLock { $0 } == 11)
    }
}
