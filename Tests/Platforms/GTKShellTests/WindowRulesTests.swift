// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CWebKitGTK
    import Testing

    @testable import NacreGTKShell

    @Suite("NB-11, NB-10: windows that the page opens")
    struct PopupRuleTests {
        private let rule = PopupRule(page: NavigationRule(origin: "https://app.example.test"))

        @Test(
            "Empty ones, blobs of the page and the app's own pages open inside, nothing else does",
            arguments: [
                ("", true), ("about:blank", true), ("blob:https://app.example.test/1-2", true),
                ("https://app.example.test/print", true), ("blob:https://evil.test/1", false), ("blob:null/1", false),
                ("https://evil.test/", false), ("https://app.example.test.evil.test/", false),
                ("data:text/html,x", false),
                ("javascript:alert(1)", false), ("file:///etc/passwd", false), ("about:srcdoc", false),
            ])
        func opens(_ uri: String, _ may: Bool) { #expect(rule.mayOpen(uri) == may) }

        @Test(
            "What is in such a window leads outside after a person's doing, and never takes its place",
            arguments: ["https://evil.test/", "mailto:a@example.org"])
        func leaves(_ uri: String) {
            #expect(rule.navigation(to: uri, userGesture: true) == .external)
            #expect(rule.navigation(to: uri, userGesture: false) == .refuse)
        }

        @Test(
            "Nor does what no browser opens",
            arguments: ["data:text/html,x", "file:///etc/passwd", "stmessages://auth"])
        func refused(_ uri: String) { #expect(rule.navigation(to: uri, userGesture: true) == .refuse) }

        @Test("Its frames may have a text of their own")
        func frames() { #expect(rule.navigation(to: "about:srcdoc", userGesture: false) == .allow) }
    }

    @Suite("SH-7: what a person has allowed")
    struct PermissionTests {
        @Test("A yes holds until the app ends, a no for its document")
        func memory() {
            var memory = PermissionMemory()
            #expect(memory.state(of: [.camera], load: 1) == .prompt)
            memory.note([.camera], granted: false, load: 1)
            #expect(memory.state(of: [.camera, .microphone], load: 1) == .denied)
            #expect(memory.state(of: [.camera], load: 2) == .prompt)
            memory.note([.camera], granted: true, load: 2)
            #expect(memory.state(of: [.camera], load: 9) == .granted)
            #expect(memory.state(of: [.camera, .microphone], load: 9) == .prompt)
            #expect(memory.state(of: .geolocation, load: 9) == .prompt)
        }

        @Test("Each question names what is asked for, in both languages", arguments: PermissionKind.allCases)
        func questions(_ kind: PermissionKind) {
            let english = PermissionQuestion(appName: "Mail", kinds: [kind], french: false)
            let french = PermissionQuestion(appName: "Mail", kinds: [kind], french: true)
            #expect(english.title != french.title && english.body.contains("Mail") && french.body.contains("Mail"))
            #expect(PermissionKind(name: "push") == nil && PermissionKind(name: "clipboard-read") == .clipboard)
        }
    }

    @Suite("NB-14: the chooser of a file input")
    struct ChooserTests {
        @Test("Accepted types are named and preset, and every file stays in reach; without types there is no choice")
        func filters() {
            let filters = ChooserWording(french: false).filters(types: ["image/png", "text/plain"])
            #expect(filters.map(\.name) == ["Accepted files", "All files"])
            #expect(filters.first?.types == ["image/png", "text/plain"] && filters.last?.types == nil)
            #expect(ChooserWording(french: false).filters(types: []).isEmpty)
        }

        @Test("It says one file or several, in both languages")
        func words() {
            let titles = [false, true].flatMap { french in
                [false, true].map { ChooserWording(french: french).title(multiple: $0) }
            }
            #expect(Set(titles).count == 4)
            #expect(
                ChooserWording(french: true).filters(types: ["a/b"]).map(\.name).allSatisfy { $0.contains("ichiers") })
        }
    }

    @Suite("The window's small things")
    struct WindowThingsTests {
        @Test("The menu keeps what works in one window without an address bar")
        func menu() {
            for action in [
                WEBKIT_CONTEXT_MENU_ACTION_COPY, WEBKIT_CONTEXT_MENU_ACTION_COPY_LINK_TO_CLIPBOARD,
                WEBKIT_CONTEXT_MENU_ACTION_DOWNLOAD_IMAGE_TO_DISK, WEBKIT_CONTEXT_MENU_ACTION_SPELLING_GUESS,
            ] { #expect(ContextMenu.keeps(action, developer: false)) }
            for action in [
                WEBKIT_CONTEXT_MENU_ACTION_OPEN_LINK_IN_NEW_WINDOW, WEBKIT_CONTEXT_MENU_ACTION_GO_BACK,
                WEBKIT_CONTEXT_MENU_ACTION_COPY_IMAGE_URL_TO_CLIPBOARD,
            ] { #expect(!ContextMenu.keeps(action, developer: true)) }
            #expect(ContextMenu.keeps(WEBKIT_CONTEXT_MENU_ACTION_INSPECT_ELEMENT, developer: true))
            #expect(!ContextMenu.keeps(WEBKIT_CONTEXT_MENU_ACTION_INSPECT_ELEMENT, developer: false))
        }

        @Test(
            "Zoom is kept with the size; files of before have none, a wild one is none",
            arguments: [
                ("zoom=1.5\n", 1.5), ("", 1.0), ("zoom=99\n", 1.0), ("zoom=nan\n", 1.0), ("zoom=x\n", 1.0),
            ])
        func zoom(_ line: String, _ zoom: Double) throws {
            let state = try #require(WindowState(text: "width=900\nheight=700\nmaximised=false\n" + line))
            #expect(state.zoom == zoom)
            #expect(WindowState(text: state.text) == state)
        }

        @Test("Dictionaries follow the desktop's languages")
        func spelling() {
            #expect(
                ShellLanguage.spelling(preferred: ["fr_FR.UTF-8", "fr_FR", "fr", "en", "C", "POSIX"]) == [
                    "fr_FR", "fr", "en",
                ])
        }

        @Test("Progress and finds are said in both languages")
        func words() {
            let progress = ShellDownloadProgress(name: "a.pdf", received: 1_250_000, size: 3_400_000)
            #expect(DownloadWording(french: false).progress(progress) == "a.pdf · 1.3 of 3.4 MB")
            #expect(DownloadWording(french: true).progress(progress) == "a.pdf · 1.3 sur 3.4 Mo")
            #expect(FindWording.places(0, most: 9, french: false) == "Not found")
            #expect(FindWording.places(1, most: 9, french: false) == "1 match")
            #expect(FindWording.places(9, most: 9, french: true) == "plus de 9")
        }
    }
#endif
