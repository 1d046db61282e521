// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
package import NacreCore
import NacreHTTP

/// One of the accounts that a person uses the app with. Nothing of it is secret: every account of the app sees the list.
package struct Account: Sendable, Equatable {
    package let id: String
    /// The name and the address to show; nil before the first sign-in.
    package var name: String?
    package var email: String?
    package var server: String?
    package var isSignedIn = false {
        didSet { if isSignedIn { wasUsed = true } }
    }
    /// Whether anybody has ever signed in, or may have: what lies in its folders is theirs.
    package var wasUsed = false

    package init(id: String) { self.id = id }

    var json: JSONValue {
        [
            "id": .string(id), "name": JSONValue(name), "email": JSONValue(email), "server": JSONValue(server),
            "signedIn": .bool(isSignedIn), "used": .bool(wasUsed),
        ]
    }

    fileprivate init?(json: JSONValue) {
        guard let id = json["id"]?.string, AccountBook.isID(id) else { return nil }  // guard: account-id
        self.id = id
        name = json["name"]?.string
        email = json["email"]?.string
        server = json["server"]?.string
        isSignedIn = json["signedIn"]?.bool ?? false
        wasUsed = isSignedIn || (json["used"]?.bool ?? (name != nil || email != nil))
    }
}

/// An account on its way out: noted before anything of it goes, and taken off the list when nothing is left.
package struct AccountRemovalNote: Sendable, Equatable {
    package let id: String
    /// The servers that it had data of beside its own: their secrets must be found when the folders are gone.
    package let servers: [String]

    var json: JSONValue { ["id": .string(id), "servers": .array(servers.map(JSONValue.string))] }

    package init(id: String, servers: [String]) {
        self.id = id
        self.servers = servers
    }

    fileprivate init?(json: JSONValue) {
        guard let id = json["id"]?.string, AccountBook.isID(id) else { return nil }  // guard: account-removal-id
        self.init(id: id, servers: (json["servers"]?.array ?? []).compactMap(\.string))
    }
}

/// The list of an app's accounts, kept in `accounts.json` in the app's folder.
package struct AccountBook: Sendable, Equatable {
    /// The account whose data lies where an app without accounts keeps its own: what a person has had before stays theirs.
    package static let first = "first"
    /// So many accounts one app has at most.
    package static let most = 16

    package private(set) var accounts: [Account]
    package private(set) var current: String
    package private(set) var removals: [AccountRemovalNote]

    /// One account, the first.
    package init() {
        accounts = [Account(id: Self.first)]
        current = Self.first
        removals = []
    }

    /// Whether this can be an account's id: it names a folder.
    static func isID(_ text: String) -> Bool {
        text == first
            || (text.utf8.count == 32 && text.allSatisfy { $0.isASCII && ($0.isNumber || ("a"..."f").contains($0)) })
    }

    /// The account in `AppPlace`'s terms.
    package static func place(of id: String) -> String? { id == first ? nil : id }

    // MARK: On disk

    /// What is kept in `folder`. A file that cannot be read costs the names, and no account: their folders tell which there
    /// are, and which of them were to go.
    package init(folder: String) {
        self.init()
        let bytes: [UInt8]?
        do throws(NacreError) { bytes = try PrivateFile.read(Self.file(folder), upTo: 1 << 20) } catch { bytes = [] }
        guard let bytes else { return }
        if let json = try? JSONParser.parse(bytes), let book = AccountBook(json: json) {
            self = book
        } else {
            let found = (try? FileManager.default.contentsOfDirectory(atPath: folder + "/accounts")) ?? []
            accounts += found.filter { Self.isID($0) && $0 != Self.first }.sorted().map { Account(id: $0) }
            for index in accounts.indices { accounts[index].wasUsed = true }
            let folders = AccountFolders(root: folder, cache: "")
            let leaving = accounts.map(\.id).filter { folders.isMarked($0) }  // guard: account-marked
            removals = leaving.map { AccountRemovalNote(id: $0, servers: folders.servers(of: $0)) }
            accounts.removeAll { leaving.contains($0.id) }
            if accounts.isEmpty {
                let spare = "0123456789abcdef".map { String(repeating: $0, count: 32) }.first { !leaving.contains($0) }
                accounts = [Account(id: spare ?? Self.first)]
            }
            current = accounts[0].id
        }
    }

    private init?(json: JSONValue) {
        guard json["version"] == 1, let list = json["accounts"]?.array else { return nil }
        accounts = list.compactMap { Account(json: $0) }
        removals = (json["removing"]?.array ?? []).compactMap { AccountRemovalNote(json: $0) }
        current = json["current"]?.string ?? ""
        guard accounts.count == list.count, !accounts.isEmpty, Set(accounts.map(\.id)).count == accounts.count,
            removals.allSatisfy({ removal in !accounts.contains { $0.id == removal.id } })
        else { return nil }
        if !accounts.contains(where: { $0.id == current }) { current = accounts[0].id }
    }

    /// Keeps the list in `folder`.
    ///
    /// - Throws: `file.*`.
    package func keep(folder: String) throws(NacreError) {
        let json: JSONValue = [
            "version": 1, "current": .string(current), "accounts": .array(accounts.map(\.json)),
            "removing": .array(removals.map(\.json)),
        ]
        try PrivateFile.replace(Self.file(folder), json.bytes)
    }

    private static func file(_ folder: String) -> String { folder + "/accounts.json" }

    // MARK: Changes

    /// The account that is shown.
    package var shown: Account { accounts.first { $0.id == current } ?? accounts[0] }

    /// Whether a sign-in must ask who it is for: with one account it is the person of the browser.
    package var asksWho: Bool { accounts.count > 1 || current != Self.first }

    /// Goes over to an account that nobody has signed in to yet: one that is there already, or a new one.
    ///
    /// - Throws: `accounts.too_many`.
    mutating func add(_ id: String) throws(NacreError) {
        // guard: account-used
        if let blank = accounts.first(where: { !$0.wasUsed && $0.name == nil && $0.email == nil }) {
            current = blank.id
            return
        }
        guard accounts.count < Self.most else {  // guard: accounts-most
            throw NacreError("accounts.too_many", "This app has \(Self.most) accounts; remove one first.")
        }
        accounts.append(Account(id: id))
        current = id
    }

    /// Goes over to this account.
    ///
    /// - Throws: `accounts.unknown`.
    mutating func choose(_ id: String) throws(NacreError) {
        guard accounts.contains(where: { $0.id == id }) else { throw Self.unknown }
        current = id
    }

    /// Takes an account off the list and notes that what is left of it has to go. Where it is the one that is shown, another
    /// takes its place; where it is the only one, a new one under the id `spare`.
    ///
    /// - Throws: `accounts.unknown`.
    mutating func remove(_ id: String, servers: [String], spare: String) throws(NacreError) {
        guard let place = accounts.firstIndex(where: { $0.id == id }) else { throw Self.unknown }
        accounts.remove(at: place)
        removals.append(AccountRemovalNote(id: id, servers: servers))
        if accounts.isEmpty { accounts.append(Account(id: spare)) }
        if current == id { current = accounts[0].id }
    }

    /// Nothing is left of this account.
    mutating func removed(_ id: String) { removals.removeAll { $0.id == id } }

    /// Notes who has signed in to the account that is shown.
    mutating func note(_ change: (inout Account) -> Void) {
        guard let place = accounts.firstIndex(where: { $0.id == current }) else { return }
        change(&accounts[place])
    }

    static var unknown: NacreError { NacreError("accounts.unknown", "There is no such account in this app.") }

    /// What the page sees of it.
    package var json: JSONValue { ["current": .string(current), "list": .array(accounts.map(\.json))] }
}
