// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreHTTP
import NacreTesting
import Testing

@testable import NacreApp

@Suite("The accounts of an app")
struct AccountBookTests {
    private static let ids = (0..<20).map { Hex.encode([UInt8](repeating: UInt8($0), count: 16)) }

    @Test("`accounts` is off by default, and needs a yes or no")
    func setting() throws {
        func read(_ more: String) throws(NacreError) -> AppConfiguration {
            try AppConfiguration(
                parsing: """
                    {"app": {"id": "org.example.a", "name": "A", "version": "1"}, "api": {"origin": "https://a.example"}\(more)}
                    """, environment: [:], isDevelopment: false)
        }
        #expect(try !read("").hasAccounts)
        #expect(try read(#", "accounts": true"#).hasAccounts)
        for (text, key) in [(#", "accounts": "yes""#, "accounts"), (#", "acounts": true"#, "accounts")] {
            let error = #expect(throws: NacreError.self) { try read(text) }
            #expect(error?.message.contains("\"\(key)\"") == true)
        }
    }

    @Test("An app begins with the account whose data it has had before, and asks nobody who they are")
    func beginning() throws {
        let book = AccountBook(folder: try TemporaryFolder().path)
        #expect(book == AccountBook())
        #expect(book.current == AccountBook.first && AccountBook.place(of: book.current) == nil && !book.asksWho)
    }

    @Test("A second account asks who signs in, and so does the first beside it")
    func asking() throws {
        var book = AccountBook()
        book.note { $0.name = "Ada" }
        try book.add(Self.ids[0])
        #expect(book.current == Self.ids[0] && book.asksWho)
        try book.choose(AccountBook.first)
        #expect(book.asksWho)
        try book.choose(Self.ids[0])
        try book.remove(AccountBook.first, servers: [], spare: Self.ids[1])
        #expect(book.accounts.map(\.id) == [Self.ids[0]] && book.asksWho)
    }

    @Test("An account that nobody has signed in to is taken instead of one more")
    func blank() throws {
        var book = AccountBook()
        try book.add(Self.ids[0])
        #expect(book.accounts.count == 1 && book.current == AccountBook.first)
        book.note { $0.email = "ada@example.org" }
        try book.add(Self.ids[0])
        try book.choose(AccountBook.first)
        try book.add(Self.ids[1])
        #expect(book.accounts.map(\.id) == [AccountBook.first, Self.ids[0]] && book.current == Self.ids[0])
    }

    @Test("There is an end to the number of accounts")
    func most() throws {
        var book = AccountBook()
        for id in Self.ids.prefix(AccountBook.most - 1) {
            book.note { $0.name = "N" }
            try book.add(id)
        }
        book.note { $0.name = "N" }
        #expect(book.accounts.count == AccountBook.most)
        let error = #expect(throws: NacreError.self) { try book.add(Self.ids[19]) }
        #expect(error?.code == "accounts.too_many" && book.accounts.count == AccountBook.most)
    }

    @Test("What is removed is noted until it is gone; another takes its place, a new one where there is no other")
    func removal() throws {
        var book = AccountBook()
        book.note { $0.name = "Ada" }
        try book.add(Self.ids[0])
        try book.remove(Self.ids[0], servers: ["https://a.example"], spare: Self.ids[1])
        #expect(book.current == AccountBook.first && book.accounts.count == 1)
        #expect(book.removals == [AccountRemovalNote(id: Self.ids[0], servers: ["https://a.example"])])
        try book.remove(AccountBook.first, servers: [], spare: Self.ids[1])
        #expect(book.current == Self.ids[1] && book.accounts.map(\.name) == [nil] && book.removals.count == 2)
        book.removed(Self.ids[0])
        #expect(book.removals.map(\.id) == [AccountBook.first])
        for change in [{ try book.choose(Self.ids[5]) }, { try book.remove(Self.ids[5], servers: [], spare: "") }] {
            let error = #expect(throws: NacreError.self) { try change() }
            #expect(error?.code == "accounts.unknown")
        }
    }

    @Test("The list is read as it was kept")
    func kept() throws {
        let folder = try TemporaryFolder()
        var book = AccountBook()
        book.note { account in
            account.name = "Ada"
            account.email = "ada@example.org"
            account.server = "https://a.example"
            account.isSignedIn = true
        }
        try book.add(Self.ids[0])
        try book.remove(AccountBook.first, servers: ["https://b.example"], spare: "")
        try book.keep(folder: folder.path)
        #expect(AccountBook(folder: folder.path) == book)
    }

    @Test("SE-1: an id that could name a folder elsewhere is none")
    func hostileID() throws {
        for id in ["..", "../../x", "", "a/b", "FIRST", String(repeating: "g", count: 32), Self.ids[0] + "0"] {
            let folder = try TemporaryFolder()
            let list: JSONValue = [
                "version": 1, "current": .string(id), "accounts": [["id": .string(id)]],
            ]
            try PrivateFile.replace(folder.path + "/accounts.json", list.bytes)
            let book = AccountBook(folder: folder.path)
            #expect(book.accounts.map(\.id) == [AccountBook.first] && book.removals.isEmpty)
        }
    }

    @Test("SE-1: nor is one that is to be removed")
    func hostileRemoval() throws {
        let folder = try TemporaryFolder()
        try folder.write(
            "accounts.json",
            #"{"version": 1, "accounts": [{"id": "first"}], "removing": [{"id": ".."}, {"id": "../x"}]}"#)
        #expect(AccountBook(folder: folder.path).removals.isEmpty)
    }

    @Test(
        "A list that cannot be read costs the names, and no account",
        arguments: ["", "{", "[]", #"{"version": 2}"#, #"{"version": 1, "accounts": []}"#])
    func damaged(_ text: String) throws {
        let folder = try TemporaryFolder()
        try folder.write("accounts/\(Self.ids[3])/state/sign-in.sqlite")
        try folder.write("accounts/stray/state/x")
        try folder.write("accounts.json", text)
        let book = AccountBook(folder: folder.path)
        #expect(book.accounts.map(\.id) == [AccountBook.first, Self.ids[3]] && book.current == AccountBook.first)
    }

    @Test("Where every account is on its way out, a list that cannot be read has a new one")
    func damagedRemovals() throws {
        let folder = try TemporaryFolder()
        try folder.write("removing", "")
        try folder.write("servers/https_b.example_443/state/sign-in.sqlite")
        try folder.write("accounts/\(Self.ids[0])/removing", "")
        try folder.write("accounts.json", "{")
        let book = AccountBook(folder: folder.path)
        #expect(
            book.removals == [
                AccountRemovalNote(id: AccountBook.first, servers: ["https://b.example"]),
                AccountRemovalNote(id: Self.ids[0], servers: []),
            ])
        #expect(book.accounts.count == 1 && AccountBook.isID(book.current))
        #expect(!book.removals.contains { $0.id == book.current } && !book.shown.wasUsed)
    }

    @Test("Nobody new signs in over an account that somebody may have used, whatever the list knows of them")
    func used() throws {
        let folder = try TemporaryFolder()
        try folder.write("accounts/\(Self.ids[3])/state/sign-in.sqlite")
        try folder.write("accounts.json", "{")
        var damaged = AccountBook(folder: folder.path)
        try damaged.add(Self.ids[1])
        #expect(damaged.current == Self.ids[1])
        // A provider that tells neither name nor address, and a person who has left.
        var nameless = AccountBook()
        nameless.note { $0.isSignedIn = true }
        nameless.note { $0.isSignedIn = false }
        try nameless.add(Self.ids[1])
        #expect(nameless.current == Self.ids[1])
        try nameless.keep(folder: folder.path)
        #expect(AccountBook(folder: folder.path) == nameless)
    }

    @Test("A list whose present account is missing shows the first of it")
    func lostCurrent() throws {
        let folder = try TemporaryFolder()
        try folder.write(
            "accounts.json", #"{"version": 1, "current": "\#(Self.ids[4])", "accounts": [{"id": "first"}]}"#)
        #expect(AccountBook(folder: folder.path).current == AccountBook.first)
    }
}

@Suite("Where the data of an account and a server is")
struct AppPlaceTests {
    private static let id = String(repeating: "a", count: 32)

    @Test("SE-1: no two places share a folder or a secret")
    func apart() throws {
        let servers: [AppPlace.Server] = [
            .own, .asked, .chosen(try Origin("https://a.example")), .chosen(try Origin("https://a.example:8443")),
            .chosen(try Origin("http://a.example")),
        ]
        let places = [nil, Self.id, String(repeating: "b", count: 32)].flatMap { account in
            servers.map { AppPlace(account: account, server: $0) }
        }
        #expect(Set(places.map(\.path)).count == places.count)
        #expect(Set(places.map { $0.secretsID("org.example.a") }).count == places.count)
        #expect(AppPlace().path.isEmpty && AppPlace().secretsID("org.example.a") == "org.example.a")
        let folder = try TemporaryFolder()
        for place in places {
            let folders = try AppFolders(id: "org.example.a", environment: ["HOME": folder.path], place: place)
            for path in [folders.state, folders.web, folders.files, folders.cache] {
                let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
                #expect(mode == 0o700 && path.hasPrefix(folder.path))
            }
        }
        let root = try AppFolders.root(id: "org.example.a", environment: ["HOME": folder.path])
        let mode = try FileManager.default.attributesOfItem(atPath: root + "/accounts")[.posixPermissions] as? Int
        #expect(mode == 0o700)
    }

    @Test(
        "A server's folder tells the server",
        arguments: ["https://a.example", "http://localhost:8901", "https://[::1]:7"])
    func names(_ text: String) throws {
        let origin = try Origin(text)
        #expect(AppPlace.server(named: AppPlace.name(origin)) == origin)
    }

    @Test(
        "What names no server is none",
        arguments: ["", "x", "ftp_a_1", "https_a b_443", "https_a.example_x", "a_b_c_d"])
    func noServer(_ name: String) { #expect(AppPlace.server(named: name) == nil) }

    @Test("A removed account's folders go, and what lies beside them stays")
    func wipe() throws {
        let scratch = try TemporaryFolder()
        let folders = AccountFolders(root: scratch.path + "/data", cache: scratch.path + "/cache")
        let own = [
            "data/state/a", "data/web/b", "data/servers/https_a.example_443/state/c", "data/server.json", "cache/d",
        ]
        let others = [
            "data/accounts/\(Self.id)/state/e", "data/accounts.json", "data/updates/trees/g",
            "cache/accounts/\(Self.id)/f",
        ]
        for name in own + others { try scratch.write(name) }
        #expect(folders.servers(of: AccountBook.first) == ["https://a.example"])
        #expect(folders.isThere(AccountBook.first))
        try folders.wipe(AccountBook.first)
        #expect(own.filter(scratch.holds).isEmpty && others.allSatisfy(scratch.holds))
        #expect(!folders.isThere(AccountBook.first) && folders.isThere(Self.id))
        for name in own { try scratch.write(name) }
        try folders.wipe(Self.id)
        #expect(own.allSatisfy(scratch.holds) && scratch.holds("data/accounts.json"))
        #expect(!scratch.holds("data/accounts/\(Self.id)") && !scratch.holds("cache/accounts/\(Self.id)"))
        try folders.wipe(Self.id)
    }
}

@Suite("An app whose people may choose a server from now on")
struct HomeServerTests {
    private let home = Origin(scheme: "https", host: "home.example", port: 443)

    private func configuration() throws(NacreError) -> AppConfiguration {
        try AppConfiguration(
            parsing: #"{"app": {"id": "org.example.a", "name": "A", "version": "1"}, "api": {"choose": true}}"#,
            environment: [:], isDevelopment: false)
    }

    @Test("Who has used the app before stays with its server, asked nothing, with session and folders as they are")
    func stays() throws {
        let folder = try TemporaryFolder()
        HomeServer.note(home, folder: folder.path)
        let read = try #require(HomeServer.read(folder: folder.path, isDevelopment: false))
        let choice = ServerChoice(folder: folder.path, isDevelopment: false, home: read)
        let bound = try configuration().with(choice, home: read)
        #expect(
            bound.api == home && !bound.needsServer && bound.place == AppPlace() && bound.secretsID == "org.example.a")
    }

    @Test("Another server has folders of its own, and so has the question; back at the first everything is there")
    func others() throws {
        let folder = try TemporaryFolder()
        let other = Origin(scheme: "https", host: "other.example", port: 443)
        try ServerChoice(origin: other, isAsking: false).keep(folder: folder.path)
        let choice = ServerChoice(folder: folder.path, isDevelopment: false, home: home)
        #expect(try configuration().with(choice, home: home).place == AppPlace(server: .chosen(other)))
        let asking = try configuration().with(ServerChoice(origin: other, isAsking: true), home: home)
        #expect(asking.place == AppPlace(server: .asked))
        let back = try configuration().with(ServerChoice(origin: home, isAsking: false), home: home)
        #expect(back.place == AppPlace())
    }

    @Test("NB-8: a noted cleartext server is none for a release, and neither is a note that cannot be read")
    func cleartext() throws {
        let folder = try TemporaryFolder()
        let cleartext = Origin(scheme: "http", host: "localhost", port: 8901)
        HomeServer.note(cleartext, folder: folder.path)
        #expect(HomeServer.read(folder: folder.path, isDevelopment: true) == cleartext)
        #expect(HomeServer.read(folder: folder.path, isDevelopment: false) == nil)
        for text in ["", "[]", #"{"origin": 7}"#, #"{"origin": "nothing"}"#] {
            try folder.write("home-server.json", text)
            #expect(HomeServer.read(folder: folder.path, isDevelopment: true) == nil)
        }
    }

    @Test("A choice that is there is what counts, also one that cannot be read")
    func chosen() throws {
        let folder = try TemporaryFolder()
        try folder.write("server.json", "{")
        #expect(ServerChoice(folder: folder.path, isDevelopment: false, home: home) == ServerChoice())
    }
}
