// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreBridge
import NacreCore
import NacreHTTP
import NacreLinks
import NacrePorts
import NacreSQLite
import NacreSecrets
import NacreTesting
import NacreWire
import Synchronization
import Testing

@testable import NacreApp
@testable import NacreSignIn

@Suite("nacre.accounts")
struct AccountKeeperTests {
    /// An app of three accounts on a disk of its own; the first is shown.
    private final class Place: HTTPTransport, Sendable {
        static let bob = String(repeating: "b", count: 32)
        static let cleo = String(repeating: "c", count: 32)
        let scratch: TemporaryFolder
        let folders: AccountFolders
        let time = ManualTime()
        let restarts = Mutex(0)
        let rested = Mutex(0)
        let stores = Mutex<[String: MemoryStore]>([:])
        let requests = Mutex<[String]>([])
        let isLocked = Mutex(false)
        /// Which keyrings there are.
        let kinds = Mutex([SecretStoreKind.memory])
        let isOffline = Mutex(false)

        init() throws {
            scratch = try TemporaryFolder()
            folders = AccountFolders(root: scratch.path + "/data", cache: scratch.path + "/cache")
            try scratch.write("data/state/x")
            for id in [Self.bob, Self.cleo] {
                for name in ["state", "web", "files"] { try scratch.write("data/accounts/\(id)/\(name)/x") }
                try scratch.write("cache/accounts/\(id)/x")
            }
            let list: JSONValue = [
                "version": 1, "current": "first",
                "accounts": [
                    ["id": "first", "name": "Ada", "server": "https://a.example"],
                    ["id": .string(Self.bob), "name": "Bob"], ["id": .string(Self.cleo), "name": "Cleo"],
                ],
            ]
            try PrivateFile.replace(folders.root + "/accounts.json", list.bytes)
        }

        var kept: AccountBook { AccountBook(folder: folders.root) }

        func store(_ account: String, _ kind: SecretStoreKind = .memory) -> MemoryStore {
            stores.withLock { stores in
                let name = account + " " + kind.rawValue
                if let store = stores[name] { return store }
                let store = MemoryStore()
                stores[name] = store
                return store
            }
        }

        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            if isOffline.withLock({ $0 }) { throw NacreError("transport.unreachable", "The server is away.") }
            requests.withLock { $0.append("\(request.url) \(request.fields["Cookie"] ?? "")") }
            return HTTPResponse(status: .noContent)
        }

        private func seat(_ choosesServer: Bool) -> AccountSeat {
            AccountSeat(
                folders: folders, book: kept, choosesServer: choosesServer,
                secrets: { place, _ in
                    let isLocked = self.isLocked.withLock { $0 }
                    return self.kinds.withLock { $0 }.map { kind in
                        let store = self.store(place.account ?? "first", kind)
                        return isLocked ? LockedStore() : Keyring(kind: kind, store: store)
                    }
                }, restart: { self.restarts.withLock { $0 += 1 } })
        }

        func removal(choosesServer: Bool = false) -> AccountRemoval {
            AccountRemoval(
                id: "org.example.a", seat: seat(choosesServer), isDevelopment: false, transport: self, time: time,
                random: SeededRandom(4), log: .none)
        }

        func keeper(choosesServer: Bool = false) async -> AccountKeeper {
            let keeper = AccountKeeper(
                seat: seat(choosesServer), scheme: "nacretest", removal: removal(choosesServer: choosesServer),
                time: time, random: SeededRandom(5), log: .none)
            await keeper.onLeaving { self.rested.withLock { $0 += 1 } }
            return keeper
        }

        /// Lets the second look at the folders happen.
        func removing(_ work: @escaping @Sendable () async throws -> Bool) async throws -> Bool {
            let isDone = Mutex(false)
            let task = Task {
                defer { isDone.withLock { $0 = true } }
                return try await work()
            }
            // A removal that does not come as far as the folders waits for nothing; the farewell to the server, which comes
            // before, has its own limit of time, and that is longer.
            try await until { self.time.untilNextWake.map { $0 <= .seconds(1) } ?? isDone.withLock { $0 } }
            time.advance(by: .seconds(1))
            return try await task.value
        }

        /// An app that has removed Bob's account while its server was out of reach.
        func removedOffline() async throws -> AccountKeeper {
            try await keepSession(Self.bob)
            isOffline.withLock { $0 = true }
            let keeper = await keeper()
            #expect(try await removing { try await keeper.remove(Self.bob) })
            try await askedInVain()
            return keeper
        }

        /// Waits until a server that is out of reach has been asked, and is to be asked again.
        func askedInVain() async throws {
            try await until { self.time.untilNextWake.map { $0 <= .seconds(6) } ?? false }
        }

        /// A session of this account, as the app keeps it.
        func keepSession(_ account: String, _ kind: SecretStoreKind = .memory) async throws {
            let session: JSONValue = [
                "version": 1, "origin": "https://a.example", "csrf": "c",
                "cookies": [
                    [
                        "name": "sessionid", "value": .string("s-" + account.prefix(4)), "domain": "a.example",
                        "path": "/", "hostOnly": true, "secure": true, "httpOnly": true, "expires": .null, "created": 0,
                    ]
                ],
            ]
            try await store(account, kind).write("session", session.bytes)
        }

        /// A sign-out of this account, of which its server has not heard.
        func keepRevocation(_ account: String, _ kind: SecretStoreKind) async throws {
            let sealer = try await AttemptSealer.open(store(account, kind), random: SeededRandom(6))
            let credentials = SessionCredentials(cookies: "sessionid=earlier", csrf: nil)
            let attempts = try await SQLiteAttemptStore(
                SQLiteStore(path: folders.root(of: account) + "/state/sign-in.sqlite"), now: time.now)
            try await attempts.keep(
                PendingRevocation(id: "p", sealed: sealer.seal(credentials.json, attempt: "p"), since: time.now))
        }

        /// Goes on with what is to be removed.
        func sweep(_ keeper: AccountKeeper) async throws {
            _ = try await removing {
                await keeper.sweep()
                return true
            }
        }
    }

    /// A keyring of a kind.
    private struct Keyring: SecretStore {
        let kind: SecretStoreKind
        let store: MemoryStore
        func availability() async -> SecretStoreAvailability { .available }
        func read(_ name: String) async throws(NacreError) -> [UInt8]? { try await store.read(name) }
        func write(_ name: String, _ value: [UInt8]) async throws(NacreError) { try await store.write(name, value) }
        func remove(_ name: String) async throws(NacreError) { try await store.remove(name) }
        func unlock() async -> Bool { true }
    }

    private struct LockedStore: SecretStore {
        let kind = SecretStoreKind.secretService
        func availability() async -> SecretStoreAvailability { .locked }
        func read(_ name: String) async throws(NacreError) -> [UInt8]? { throw NacreError("secrets.locked", "Locked.") }
        func write(_ name: String, _ value: [UInt8]) async throws(NacreError) {
            throw NacreError("secrets.locked", "Locked.")
        }
        func remove(_ name: String) async throws(NacreError) { throw NacreError("secrets.locked", "Locked.") }
        func unlock() async -> Bool { false }
    }

    private func call(_ keeper: AccountKeeper, _ method: String, _ id: String? = nil) async throws -> JSONValue {
        let options: JSONValue = id.map { ["id": .string($0)] } ?? [:]
        let context = BridgeCallContext(pageLoad: 1) { _ in }
        return try await AccountsPlugin(keeper: keeper).call(method, options: options, call: context)
    }

    private func code(_ work: () async throws -> some Any) async -> String? {
        do {
            _ = try await work()
            return nil
        } catch { return (error as? NacreError)?.code.rawValue }
    }

    @Test("Whoever goes over to another account finds the app started anew with it; a second wish meanwhile is refused")
    func choose() async throws {
        let place = try Place()
        let keeper = await place.keeper()
        #expect(try await call(keeper, "switch", "first") == ["outcome": "current"])
        #expect(try await call(keeper, "switch", Place.bob) == ["outcome": "switching"])
        try await until { place.restarts.withLock { $0 } == 1 }
        #expect(place.rested.withLock { $0 } == 1 && place.kept.current == Place.bob)
        #expect(await code { try await call(keeper, "switch", Place.cleo) } == "accounts.busy")
        #expect(place.kept.current == Place.bob)
    }

    @Test("A call without an account of the app changes nothing", arguments: ["switch", "remove"])
    func unknown(_ method: String) async throws {
        let place = try Place()
        let keeper = await place.keeper()
        for id in [nil, "", "..", String(repeating: "d", count: 32)] {
            #expect(await code { try await call(keeper, method, id) } == "accounts.unknown")
        }
        #expect(place.restarts.withLock { $0 } == 0 && place.kept.accounts.count == 3)
    }

    @Test("A new account is empty; where people choose the server, it is asked for, and the one at hand is proposed")
    func add() async throws {
        for choosesServer in [false, true] {
            let place = try Place()
            let keeper = await place.keeper(choosesServer: choosesServer)
            #expect(try await call(keeper, "add") == ["outcome": "adding"])
            let book = place.kept
            #expect(book.accounts.count == 4 && book.shown.name == nil && book.current.utf8.count == 32)
            let choice = ServerChoice(folder: place.folders.root(of: book.current), isDevelopment: false)
            #expect(choice.isAsking && choice.origin?.description == (choosesServer ? "https://a.example" : nil))
        }
    }

    @Test("A disk that takes no write is said, and the account stays")
    func notKept() async throws {
        let place = try Place()
        let keeper = await place.keeper()
        try FileManager.default.createDirectory(
            atPath: place.folders.root + "/accounts.json.new", withIntermediateDirectories: false)
        #expect(await code { try await call(keeper, "switch", Place.bob) } == "accounts.not_kept")
        #expect(place.restarts.withLock { $0 } == 0 && keeper.book.current == "first")
    }

    @Test("The list tells who is signed in, and keeps the name of whoever has left")
    func note() async throws {
        let place = try Place()
        let keeper = await place.keeper()
        let profile = UserProfile(id: "1", email: "ada@example.org", fullName: "Ada L.", language: nil)
        let told = Mutex(0)
        let changes = await keeper.changes()
        let listening = Task { for await _ in changes { told.withLock { $0 += 1 } } }
        await keeper.note(
            SessionSnapshot(state: .signedIn, profile: profile, keptIn: .memory), server: "https://a.example")
        for state in [SessionSnapshot.State.locked, .unknown, .signingIn] {
            await keeper.note(SessionSnapshot(state: state, keptIn: .memory), server: nil)
        }
        #expect(place.kept.shown.isSignedIn && place.kept.shown.name == "Ada L.")
        await keeper.note(SessionSnapshot(state: .signedOut, keptIn: .memory), server: nil)
        #expect(!place.kept.shown.isSignedIn && place.kept.shown.email == "ada@example.org")
        try await until { told.withLock { $0 } == 2 }
        listening.cancel()
        // What the session says while the app is on its way is not the next account's.
        _ = try await keeper.choose(Place.bob)
        await keeper.note(SessionSnapshot(state: .signedIn, profile: profile, keptIn: .memory), server: nil)
        #expect(place.kept.shown.name == "Bob")
    }

    @Test("SE-5: an account that is removed is signed out, and its secrets and folders go; the others stay")
    func remove() async throws {
        let place = try Place()
        try await place.keepSession(Place.bob)
        try await place.keepSession(Place.cleo)
        let keeper = await place.keeper()
        #expect(try await place.removing { try await keeper.remove(Place.bob) })
        #expect(place.requests.withLock { $0 } == ["https://a.example/api/v1.0/mobile/auth/logout/ sessionid=s-bbbb"])
        #expect(try await place.store(Place.bob).read("session") == nil)
        #expect(try await place.store(Place.cleo).read("session") != nil)
        #expect(
            !place.scratch.holds("data/accounts/\(Place.bob)") && !place.scratch.holds("cache/accounts/\(Place.bob)"))
        #expect(place.scratch.holds("data/accounts/\(Place.cleo)/web/x") && place.scratch.holds("data/state/x"))
        #expect(place.kept.removals.isEmpty && place.kept.accounts.count == 2 && place.restarts.withLock { $0 } == 0)
    }

    @Test("The account that is shown goes when another has taken its place, also after a kill")
    func removeCurrent() async throws {
        let place = try Place()
        let keeper = await place.keeper()
        #expect(try await call(keeper, "remove", "first") == ["outcome": "removing"])
        try await until { place.restarts.withLock { $0 } == 1 }
        #expect(place.kept.current == Place.bob && place.kept.removals.map(\.id) == ["first"])
        #expect(place.scratch.holds("data/state/x"))
        let next = await place.keeper()
        _ = try await place.removing {
            await next.sweep()
            return true
        }
        #expect(!place.scratch.holds("data/state") && place.scratch.holds("data/accounts/\(Place.bob)/state/x"))
        #expect(place.kept.removals.isEmpty)
    }

    @Test(
        "The account that is shown stays whole until another has taken its place, whatever asks for removals to go on")
    func shownStays() async throws {
        let place = try Place()
        try await place.keepSession("first")
        let keeper = await place.keeper()
        let (resting, rested) = AsyncStream<Never>.makeStream()
        await keeper.onLeaving { for await _ in resting {} }
        #expect(try await call(keeper, "remove", "first") == ["outcome": "removing"])
        try await place.sweep(keeper)
        #expect(place.scratch.holds("data/state/x") && place.kept.removals.map(\.id) == ["first"])
        #expect(try await place.store("first").read("session") != nil && place.requests.withLock { $0.isEmpty })
        rested.finish()
        try await until { place.restarts.withLock { $0 } == 1 }
        try await place.sweep(await place.keeper())
        #expect(!place.scratch.holds("data/state") && place.kept.removals.isEmpty)
        #expect(try await place.store("first").read("session") == nil && place.requests.withLock { $0.count } == 1)
    }

    @Test(
        "SE-5: with a locked keyring the data goes at once; what ends the sessions stays until it is unlocked, however late",
        arguments: [true, false])
    func lockedRemoval(isSignedIn: Bool) async throws {
        let place = try Place()
        let bob = "data/accounts/\(Place.bob)"
        place.kinds.withLock { $0 = [.secretService] }
        try place.scratch.write(bob + "/state/secrets-kind", SecretStoreKind.secretService.rawValue)
        try place.scratch.write(bob + "/state/secrets")
        HomeServer.note(
            Origin(scheme: "https", host: "a.example", port: 443), folder: place.folders.root(of: Place.bob))
        if isSignedIn { try await place.keepSession(Place.bob, .secretService) }
        try await place.keepRevocation(Place.bob, .secretService)
        place.isLocked.withLock { $0 = true }
        let keeper = await place.keeper()
        #expect(try await place.removing { try await keeper.remove(Place.bob) } == false)
        for data in [bob + "/web", bob + "/files", bob + "/state/x", "cache/accounts/\(Place.bob)"] {
            #expect(!place.scratch.holds(data))
        }
        #expect(place.scratch.holds(bob + "/state/secrets"))
        #expect(place.kept.removals.map(\.id) == [Place.bob] && place.kept.accounts.count == 2)

        // At the next login the app is there before the keyring.
        place.isLocked.withLock { $0 = false }
        place.kinds.withLock { $0 = [] }
        let next = await place.keeper()
        try await place.sweep(next)
        #expect(place.kept.removals.map(\.id) == [Place.bob] && place.requests.withLock { $0.isEmpty })

        place.kinds.withLock { $0 = [.secretService] }
        try await place.sweep(next)
        let told = (isSignedIn ? ["s-bbbb"] : []) + ["earlier"]
        let logout = "https://a.example/api/v1.0/mobile/auth/logout/ sessionid="
        #expect(place.requests.withLock { $0 } == told.map { logout + $0 })
        for name in ["session", "sign-in.key"] {
            #expect(try await place.store(Place.bob, .secretService).read(name) == nil)
        }
        #expect(!place.scratch.holds(bob) && place.kept.removals.isEmpty)
    }

    @Test(
        "SE-5: an account whose removal was asked for does not come back with a list that cannot be read",
        arguments: ["first", String(repeating: "b", count: 32)])
    func removalOutlivesList(_ id: String) async throws {
        let place = try Place()
        try await place.keepSession(id)
        place.isLocked.withLock { $0 = true }
        let keeper = await place.keeper()
        #expect(try await place.removing { try await keeper.remove(id) } == false)
        try place.scratch.write("data/accounts.json", "{")
        #expect(place.kept.removals.map(\.id) == [id] && !place.kept.accounts.contains { $0.id == id })
        #expect(place.kept.current != id && place.kept.accounts.count == 2)
        place.isLocked.withLock { $0 = false }
        try await place.sweep(await place.keeper())
        #expect(try await place.store(id).read("session") == nil && place.requests.withLock { $0.count } == 1)
        #expect(place.kept.removals.isEmpty && !place.folders.isThere(id))
    }

    @Test("A removal that the list never knew of is none, also when the list is lost later")
    func removalNeverNoted() async throws {
        let place = try Place()
        try FileManager.default.createDirectory(
            atPath: place.folders.root + "/accounts.json.new", withIntermediateDirectories: false)
        #expect(await code { try await call(place.keeper(), "remove", Place.bob) } == "accounts.not_kept")
        // Cut short between the two.
        try place.scratch.write("data/accounts/\(Place.cleo)/removing", "")
        try await place.sweep(await place.keeper())
        try place.scratch.write("data/accounts.json", "{")
        #expect(place.kept.accounts.map(\.id) == ["first", Place.bob, Place.cleo] && place.kept.removals.isEmpty)
    }

    private static let farewell = "https://a.example/api/v1.0/mobile/auth/logout/ sessionid=s-bbbb"

    @Test("SE-5: a server that is out of reach when an account is removed hears of it at a later start")
    func owedRevocation() async throws {
        let place = try Place()
        _ = try await place.removedOffline()
        // Of the account itself nothing is left.
        #expect(try await place.store(Place.bob).read("session") == nil)
        #expect(!place.scratch.holds("data/accounts/\(Place.bob)") && place.kept.removals.isEmpty)
        #expect(place.scratch.holds("data/accounts/owed") && place.requests.withLock { $0.isEmpty })
        // Nor is it in the file that says who is there, whatever becomes of that.
        try place.scratch.write("data/accounts.json", "{")
        #expect(place.kept.accounts.map(\.id) == ["first", Place.cleo])

        place.isOffline.withLock { $0 = false }
        place.isLocked.withLock { $0 = true }
        #expect(await place.removal().debts.settle() == 0)
        #expect(place.scratch.holds("data/accounts/owed"))
        place.isLocked.withLock { $0 = false }
        let next = await place.keeper()
        await next.sweep()
        try await until { !place.scratch.holds("data/accounts/owed") }
        #expect(place.requests.withLock { $0 } == [Self.farewell])
        #expect(try await place.store("owed").read("owed-revocations") == nil)
        #expect(await place.removal().debts.settle() == 0)
        #expect(place.requests.withLock { $0.count } == 1)
    }

    @Test("SE-5: while the app runs, a server that is out of reach is asked again, with growing waits")
    func owedRetry() async throws {
        let place = try Place()
        let keeper = try await place.removedOffline()
        place.isOffline.withLock { $0 = false }
        place.time.advance(by: .seconds(6))
        try await until { !place.scratch.holds("data/accounts/owed") }
        #expect(place.requests.withLock { $0 } == [Self.farewell])
        withExtendedLifetime(keeper) {}
    }

    @Test("SE-5: what is owed waits for the keyring in which it was noted")
    func owedKeyring() async throws {
        let place = try Place()
        try place.scratch.write("data/accounts/owed/state/secrets-kind", "secret-service")
        #expect(await place.removal().debts.settle() == 0)
        #expect(place.scratch.holds("data/accounts/owed"))
    }

    @Test("SE-5: what is owed is told from every keyring in which it was noted")
    func owedInSeveral() async throws {
        let place = try Place()
        let removal = place.removal()
        place.isOffline.withLock { $0 = true }
        for (account, kinds) in [
            (Place.bob, [SecretStoreKind.passphrase]), (Place.cleo, [.secretService, .passphrase]),
        ] {
            place.kinds.withLock { $0 = kinds }
            try await place.keepSession(account, kinds[0])
            #expect(try await place.removing { await removal.run(AccountRemovalNote(id: account, servers: [])) })
        }
        place.isOffline.withLock { $0 = false }
        // One of them is not there: what it holds is waited for.
        place.kinds.withLock { $0 = [.secretService] }
        #expect(await removal.debts.settle() == 0)
        #expect(place.requests.withLock { $0.count } == 1 && place.scratch.holds("data/accounts/owed"))
        place.kinds.withLock { $0 = [.secretService, .passphrase] }
        #expect(await removal.debts.settle() == 0)
        #expect(place.requests.withLock { $0 } == [Self.farewell.replacing("bbbb", with: "cccc"), Self.farewell])
        #expect(!place.scratch.holds("data/accounts/owed"))
    }

    @Test("A removed account's keyring that does not answer is waited for, and nothing goes meanwhile")
    func absentKeyring() async throws {
        let place = try Place()
        try place.scratch.write("data/accounts/\(Place.bob)/state/secrets-kind", "secret-service")
        let keeper = await place.keeper()
        // What answers is a keyring of another kind.
        #expect(try await place.removing { try await keeper.remove(Place.bob) } == false)
        #expect(place.scratch.holds("data/accounts/\(Place.bob)/state/x") && place.kept.removals.count == 1)
    }

    // MARK: Links

    /// Writes an attempt down as Bob's app does.
    private func attempt(_ place: Place, _ phase: AttemptPhase, flow: String = "f-bob") async throws {
        let store = try await SQLiteAttemptStore(
            SQLiteStore(path: place.folders.root(of: Place.bob) + "/state/sign-in.sqlite"), now: place.time.now)
        try await store.save(AttemptRecord(id: "1", phase: phase, flow: flow, startedAt: place.time.now, sealed: []))
    }

    private func take(_ keeper: AccountKeeper, _ url: String) async throws -> Bool {
        await keeper.take(IncomingLink(id: "l", url: url), try DeepLink(parsing: url, schemes: ["nacretest"]))
    }

    @Test("HO-8: a link with another account's flow leads there; one that is nobody's, or bare, leads nowhere")
    func links() async throws {
        let place = try Place()
        try await attempt(place, .borrowed)
        let keeper = await place.keeper()
        for url in ["nacretest://auth?token=t", "nacretest://auth?token=t&flow=f-eve", "nacretest://auth?error=x"] {
            #expect(try await take(keeper, url) == false)
        }
        #expect(place.kept.current == "first")
        #expect(try await take(keeper, "nacretest://auth?token=t&flow=f-bob"))
        try await until { place.restarts.withLock { $0 } == 1 }
        #expect(place.kept.current == Place.bob)
        let journal = try await LinkJournal(
            SQLiteStore(path: place.folders.root(of: Place.bob) + "/state/links.sqlite"), now: place.time.now)
        #expect(try await journal.waiting().map(\.url) == ["nacretest://auth?token=t&flow=f-bob"])
    }

    @Test("A refusal that ends another account's sign-in is noted there, and nobody is led away")
    func refusal() async throws {
        let place = try Place()
        try await attempt(place, .waiting)
        let keeper = await place.keeper()
        #expect(try await take(keeper, "nacretest://auth?error=access_denied&flow=f-bob"))
        #expect(place.kept.current == "first" && place.restarts.withLock { $0 } == 0)
        #expect(try await take(keeper, "nacretest://auth?error=access_denied&flow=f-bob") == false)
    }

    @Test("A sign-in whose key is locked up is not lost: its account comes up and shows that it waits")
    func lockedLink() async throws {
        let place = try Place()
        try await attempt(place, .waiting)
        place.isLocked.withLock { $0 = true }
        let keeper = await place.keeper()
        #expect(try await take(keeper, "nacretest://auth?token=t&flow=f-bob"))
        #expect(place.kept.current == Place.bob)
    }
}
