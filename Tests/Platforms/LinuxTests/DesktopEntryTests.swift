// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import Testing

@testable import NacreLinux

@Suite("Desktop entry of a development run")
struct DesktopEntryTests {
    @Test("The entry names the program, the folder, the link and the schemes")
    func text() throws {
        let entry = try DesktopEntry.forDevelopment(
            applicationID: "org.example.mail", name: "Mail", schemes: ["stmessages", "x-mail"],
            program: "/opt/nacre/bin/nacre", folder: "/home/a b/mail")
        #expect(entry.fileName == "org.example.mail.desktop")
        let lines = entry.text.split(separator: "\n")
        #expect(lines.contains(#"Exec=/opt/nacre/bin/nacre run "/home/a b/mail" %u"#))
        #expect(lines.contains("MimeType=x-scheme-handler/stmessages;x-scheme-handler/x-mail;"))
        #expect(lines.contains("StartupWMClass=org.example.mail"))
    }

    @Test(
        "An argument of Exec is quoted by that key's rules and escaped as a value",
        arguments: [
            ("/usr/bin/nacre", "/usr/bin/nacre"),
            ("a b", #""a b""#),
            (#"say "hi""#, #""say \\"hi\\"""#),
            ("$HOME`x`", #""\\$HOME\\`x\\`""#),
            (#"back\slash"#, #""back\\\\slash""#),
            ("100%", #""100%%""#),
            ("", "\"\""),
            ("é", "\"é\""),
        ])
    func argument(_ text: String, _ written: String) {
        #expect(DesktopEntry.argument(text) == written)
    }

    @Test("A name with line breaks adds no key")
    func name() throws {
        let entry = try DesktopEntry.forDevelopment(
            applicationID: "a.b", name: "Mail\nExec=evil\r\nX=1", schemes: ["s"], program: "/p", folder: "/f")
        #expect(entry.text.split(whereSeparator: \.isNewline).filter { $0.hasPrefix("Exec=") }.count == 1)
        #expect(!entry.text.split(whereSeparator: \.isNewline).contains { $0.hasPrefix("X=") })
    }

    @Test(
        "SH-4: a scheme that no desktop accepts is refused by name",
        arguments: ["", "STmessages", "st_messages", "1st", "st messages", "st;x", "é", "-a"])
    func schemes(_ scheme: String) {
        let error = #expect(throws: NacreError.self) {
            _ = try DesktopEntry.forDevelopment(
                applicationID: "a.b", name: "n", schemes: [scheme], program: "/p", folder: "/f")
        }
        #expect(error?.code == "desktop.invalid")
    }

    @Test("An application id cannot lead out of the folder", arguments: ["", "../x", "a/b", ".hidden", "a b", "é"])
    func identifiers(_ id: String) {
        let error = #expect(throws: NacreError.self) {
            _ = try DesktopEntry.forDevelopment(applicationID: id, name: "n", schemes: [], program: "/p", folder: "/f")
        }
        #expect(error?.code == "desktop.invalid")
    }

    @Test("Paths are whole and on one line", arguments: ["nacre", "./nacre", "/a\nExec=evil"])
    func paths(_ path: String) {
        #expect(throws: NacreError.self) {
            _ = try DesktopEntry.forDevelopment(
                applicationID: "a.b", name: "n", schemes: [], program: path, folder: "/f")
        }
        #expect(throws: NacreError.self) {
            _ = try DesktopEntry.forDevelopment(
                applicationID: "a.b", name: "n", schemes: [], program: "/p", folder: path)
        }
    }
}
