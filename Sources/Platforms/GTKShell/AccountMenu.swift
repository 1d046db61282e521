// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// An account that the window's menu offers.
package struct ShellAccount: Sendable, Equatable {
    package let id: String
    /// What a person knows it by; nil before anybody has signed in.
    package let name: String?

    package init(id: String, name: String?) {
        self.id = id
        self.name = name
    }
}

/// The accounts, and which of them is shown.
package struct ShellAccounts: Sendable, Equatable {
    package let current: String
    package let list: [ShellAccount]

    package init(current: String, list: [ShellAccount]) {
        self.current = current
        self.list = list
    }
}

/// What a person wants of the accounts.
package enum ShellAccountWish: Sendable, Equatable {
    case add
    case choose(String)
    case remove(String)
}

/// The entries of the window's menu for the accounts.
struct AccountMenu {
    struct Entry: Equatable {
        let label: String
        let wish: ShellAccountWish
    }

    /// The question before an account goes.
    struct Question: Equatable {
        let title: String
        let body: String
        let accept: String
        let refuse: String
    }

    let accounts: ShellAccounts
    let french: Bool

    var entries: [Entry] {
        let others = accounts.list.filter { $0.id != accounts.current }.map { account in
            Entry(
                label: Self.escaped(french ? "Passer à \(name(account))" : "Switch to \(name(account))"),
                wish: .choose(account.id))
        }
        return others + [
            Entry(label: french ? "Ajouter un compte…" : "Add account…", wish: .add),
            Entry(label: french ? "Retirer ce compte…" : "Remove this account…", wish: .remove(accounts.current)),
        ]
    }

    func question(_ id: String, appName: String) -> Question {
        let shown = accounts.list.first { $0.id == id }.map(name) ?? ""
        return french
            ? Question(
                title: "Retirer \(shown) ?",
                body: "Ce compte est déconnecté, et tout ce que \(appName) garde de lui sur cet appareil est supprimé.",
                accept: "Retirer", refuse: "Annuler")
            : Question(
                title: "Remove \(shown)?",
                body:
                    "The account is signed out, and everything that \(appName) keeps of it on this device is deleted.",
                accept: "Remove", refuse: "Cancel")
    }

    /// A server tells the name: one line of it, without what turns text around.
    private func name(_ account: ShellAccount) -> String {
        let kept = (account.name ?? "").unicodeScalars.filter { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate: false
            default: true
            }
        }
        let text = String(String.UnicodeScalarView(kept)).prefix(60)
        guard text.contains(where: { !$0.isWhitespace }) else { return french ? "un nouveau compte" : "a new account" }
        return String(text)
    }

    /// In a menu an underscore marks a letter.
    private static func escaped(_ text: String) -> String {
        text.split(separator: "_", omittingEmptySubsequences: false).joined(separator: "__")
    }
}
