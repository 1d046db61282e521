// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Testing

@testable import NacreGTKShell

@Suite("The accounts in the window's menu")
struct AccountMenuTests {
    private func menu(_ names: [String?], french: Bool = false) -> AccountMenu {
        let list = names.enumerated().map { ShellAccount(id: "\($0.offset)", name: $0.element) }
        return AccountMenu(accounts: ShellAccounts(current: "0", list: list), french: french)
    }

    @Test("The others can be gone over to, one be added, and the one that is shown be removed, in English and French")
    func entries() {
        let english = menu(["Ada", "Bob", nil]).entries
        #expect(
            english.map(\.label) == [
                "Switch to Bob", "Switch to a new account", "Add account…", "Remove this account…",
            ])
        #expect(english.map(\.wish) == [.choose("1"), .choose("2"), .add, .remove("0")])
        let french = menu(["Ada", "Bob", nil], french: true).entries
        #expect(
            french.map(\.label) == [
                "Passer à Bob", "Passer à un nouveau compte", "Ajouter un compte…", "Retirer ce compte…",
            ])
        #expect(menu(["Ada"]).entries.map(\.wish) == [.add, .remove("0")])
    }

    @Test(
        "A name from a server stays one line of text",
        arguments: [
            ("a_b", "Switch to a__b"), ("Bob\u{202E}\u{0007}\n", "Switch to Bob"), ("  ", "Switch to a new account"),
            ("", "Switch to a new account"), ("نور", "Switch to نور"),
            (String(repeating: "x", count: 500), "Switch to " + String(repeating: "x", count: 60)),
        ])
    func names(_ name: String, _ label: String) {
        #expect(menu(["Ada", name]).entries.first?.label == label)
    }

    @Test("Before an account goes, a person is asked about it by name")
    func question() {
        let english = menu(["a_b"]).question("0", appName: "Messages")
        #expect(english.title == "Remove a_b?" && english.body.contains("Messages") && english.accept == "Remove")
        let french = menu(["Ada"], french: true).question("0", appName: "Messages")
        #expect(french.title == "Retirer Ada ?" && french.refuse == "Annuler")
    }
}
