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
        ])
    func kept(_ text: String) { #expect(ReportText(personal: []).clean(text) == text) }

    private func report(_ faults: [String], _ lines: [String]) -> String {
        ProblemReport(
            app: "Mail", id: "org.example.mail", versions: "app 1.2.0 (42) · web 0.1.0 (a1b2) · linux",
            device: DeviceFacts(
                platform: "linux", name: "host", manufacturer: "m", model: "m", systemName: "Debian",
                systemVersion: "12", isVirtual: false, language: "fr-FR", webViewVersion: "2.50.6"),
            session: SessionSnapshot(state: .signedOut, reason: .failed, keptIn: .memory), faults: faults, lines: lines,
            home: "/home/ada"
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

    @Test("A secret in any line of the log is not in it")
    func lines() {
        for (line, secret) in Self.secrets where secret != "Ada Lovelace" {
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
