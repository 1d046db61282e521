// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Testing

@testable import NacreGTKShell

private let samples: [ShellPage] = [
    .crashed(.crashed), .crashed(.outOfMemory), .loadFailed(reason: "refused"),
    .devServerUnreachable(address: "http://localhost:5173", reason: "refused"),
]

@Suite("Pages and state of the shell's own")
struct ShellPageTests {
    @Test("Each page has a heading, a way on, both languages, no script and no outside resource", arguments: samples)
    func complete(_ page: ShellPage) {
        let english = page.html(appName: "Mail", language: .english)
        let french = page.html(appName: "Mail", language: .french)
        #expect(english.contains("<html lang=\"en\">") && french.contains("<html lang=\"fr\">"))
        #expect(english != french)
        for html in [english, french] {
            #expect(html.contains("<h1>") && html.contains("href=\"nacre-shell:retry\""))
            #expect(!html.contains("<script") && !html.contains("src="))
            #expect(html.contains("default-src 'none'"))
        }
    }

    @Test("SH-2: the page of an unreachable development server names address and reason, and retries")
    func devServer() {
        let page = ShellPage.devServerUnreachable(address: "http://localhost:5173", reason: "connection refused")
        let html = page.html(appName: "Mail", language: .english)
        #expect(html.contains("http://localhost:5173") && html.contains("connection refused"))
        #expect(page.retriesAlone)
        #expect(!ShellPage.crashed(.crashed).retriesAlone)
    }

    @Test("What others say is shown, not run")
    func escaping() {
        let html = ShellPage.loadFailed(reason: "<img src=x onerror=\"a&b\">").html(appName: "<b>", language: .english)
        #expect(!html.contains("<img") && !html.contains("<b>"))
        #expect(html.contains("&lt;img src=x onerror=&quot;a&amp;b&quot;&gt;"))
    }

    @Test(
        "The language is the first of the desktop's list that the shell speaks",
        arguments: [
            (["fr_FR.UTF-8", "fr"], ShellLanguage.french), (["de_DE", "fr", "en"], .french),
            (["en_GB", "fr"], .english),
            (["C"], .english), ([], .english),
        ])
    func language(_ names: [String], _ wanted: ShellLanguage) {
        #expect(ShellLanguage.system.resolved(preferred: names) == wanted)
        #expect(ShellLanguage.french.resolved(preferred: names) == .french)
    }

    @Test("The window's size is kept as it was")
    func windowState() {
        let state = WindowState(width: 1200, height: 700, maximised: true)
        #expect(WindowState(text: state.text) == state)
    }

    @Test(
        "A damaged window file is the same as none",
        arguments: [
            "", "width=1\nheight=1\nmaximised=true\n", "width=900\n", "width=a\nheight=700\nmaximised=true\n",
            "width=900\nheight=99999\nmaximised=false\n", "width=900\nheight=700\nmaximised=maybe\n", "\u{0}\u{1}",
            "width=-900\nheight=700\nmaximised=false\n",
        ])
    func damaged(_ text: String) {
        #expect(WindowState(text: text) == nil)
    }

    @Test("SH-7: the question names the device that is asked for")
    func media() {
        #expect(PermissionQuestion(appName: "Mail", kinds: [.camera], french: false).title.contains("camera"))
        let both = PermissionQuestion(appName: "Mail", kinds: [.camera, .microphone], french: true)
        #expect(both.title.contains("caméra") && both.title.contains("micro") && both.body.contains("Mail"))
    }
}
