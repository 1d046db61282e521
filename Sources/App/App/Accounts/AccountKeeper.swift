// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
import NacreHTTP
import NacreLinks
import NacrePorts
import NacreSQLite
import NacreSignIn
import NacreWire
import Synchronization

/// The accounts of a running app. Everything of an app hangs on its account, so that going over to another one starts the
/// app anew.
package actor AccountKeeper {
    private let seat: AccountSeat
    private let scheme: String
    private let removal: AccountRemoval
    private let time: any TimeSource
    private let random: any RandomSource
    private let log: Log
    // The list is written by this thread: a change is on disk before the next one is looked at.
    private nonisolated let thread = OwnThread()
    package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    private nonisolated let known: Mutex<AccountBook>
    private var observers: [AsyncStream<AccountBook>.Continuation] = []
    private var rest: @Sendable () async -> Void = {}
    private var isGoing = false
    private var isSettling = false
    private var turn: Task<Void, Never>?

    init(
        seat: AccountSeat, scheme: String, removal: AccountRemoval, time: any TimeSource, random: any RandomSource,
        log: Log
    ) {
        self.seat = seat
        self.scheme = scheme
        self.removal = removal
        self.time = time
        self.random = random
        self.log = log
        known = Mutex(seat.book)
    }

    deinit { thread.stop() }

    /// The list as it is now.
    package nonisolated var book: AccountBook { known.withLock { $0 } }

    /// What is to come to its end before another account takes this one's place.
    func onLeaving(_ rest: @escaping @Sendable () async -> Void) { self.rest = rest }

    /// Every change from now on.
    package func changes() -> AsyncStream<AccountBook> {
        let (stream, continuation) = AsyncStream<AccountBook>.makeStream()
        observers.append(continuation)
        return stream
    }

    // MARK: What a person asks for

    /// Goes over to an account that nobody has signed in to yet. Answers false where that is the one that is shown.
    ///
    /// - Throws: `accounts.too_many`, `accounts.busy`, `accounts.not_kept`.
    package func add() throws(NacreError) -> Bool {
        let server = book.shown.server.flatMap { try? Origin($0) }
        return try go { [seat, random] book throws(NacreError) in
            let known = book.accounts.count
            try book.add(random.identifier())
            guard seat.choosesServer, book.accounts.count > known else { return }
            // The new account is asked for its server, and the one at hand is proposed.
            let folder = seat.folders.root(of: book.current)
            try PrivateFile.makeFolder(folder)
            try ServerChoice(origin: server, isAsking: true).keep(folder: folder)
        }
    }

    /// Goes over to another account. Answers false where it is the one that is shown.
    ///
    /// - Throws: `accounts.unknown`, `accounts.busy`, `accounts.not_kept`.
    package func choose(_ id: String) throws(NacreError) -> Bool {
        try go { book throws(NacreError) in try book.choose(id) }
    }

    /// Removes an account: its session ends, its secrets and its folders go. The account that is shown goes when another one
    /// has taken its place. Answers whether nothing is left.
    ///
    /// - Throws: `accounts.unknown`, `accounts.busy`, `accounts.not_kept`.
    package func remove(_ id: String) async throws(NacreError) -> Bool {
        let change: @Sendable (inout AccountBook) throws(NacreError) -> Void = {
            [seat, random] book throws(NacreError) in
            try book.remove(id, servers: seat.folders.servers(of: id), spare: random.identifier())
            // Before the list is changed: where that cannot be read one day, the account stays on its way out.
            do throws(NacreError) { try seat.folders.mark(id) } catch { throw Self.notKept(error) }
        }
        do throws(NacreError) {
            guard id != seat.book.current else {
                _ = try go(change)
                return false
            }
            guard !isGoing else { throw Self.busy }
            try keep(change)
        } catch {
            unmarkKept()
            throw error
        }
        await sweep()
        return !book.removals.contains { $0.id == id }
    }

    /// Changes which account is shown, and starts the app with it. Answers false where it is the same.
    private func go(_ change: (inout AccountBook) throws(NacreError) -> Void) throws(NacreError) -> Bool {
        guard !isGoing else { throw Self.busy }  // guard: accounts-busy
        try keep(change)
        guard book.current != seat.book.current else { return false }
        isGoing = true
        // After this call's answer: the page is told before it goes.
        Task { [rest, restart = seat.restart] in
            await rest()
            await restart()
        }
        return true
    }

    private static func notKept(_ error: NacreError) -> NacreError {
        NacreError("accounts.not_kept", "The accounts cannot be kept; is the disk full?", cause: error)
    }

    private static var busy: NacreError {
        NacreError("accounts.busy", "The app is on its way to another account; try again when it is there.")
    }

    private func keep(_ change: (inout AccountBook) throws(NacreError) -> Void) throws(NacreError) {
        var next = book
        try change(&next)
        guard next != book else { return }
        do throws(NacreError) {
            try next.keep(folder: seat.folders.root)
        } catch {
            throw Self.notKept(error)
        }
        known.withLock { $0 = next }
        for observer in observers { observer.yield(next) }
    }

    // MARK: What the session tells

    /// Notes who is signed in, for the list.
    func note(_ snapshot: SessionSnapshot, server: String?) {
        // Whoever leaves is no longer the account that is noted.
        guard !isGoing else { return }  // guard: accounts-note-shown
        guard snapshot.state == .signedIn || snapshot.state == .signedOut else { return }
        do throws(NacreError) {
            try keep { book in
                book.note { account in
                    account.isSignedIn = snapshot.state == .signedIn
                    if let server { account.server = server }
                    guard let profile = snapshot.profile else { return }
                    account.name = profile.fullName
                    account.email = profile.email
                }
            }
        } catch {
            log.warning("accounts.not_kept", ["reason": .string("\(error)")])
        }
    }

    // MARK: Removals

    /// Goes on with what is to be removed; at the start, and when the keyring may have been unlocked.
    package func sweep() async {
        unmarkKept()
        await inOrder { keeper in
            let shown = keeper.seat.book.current
            // The account that is shown still writes into its folders and its keyring: the next start removes it.
            for note in keeper.book.removals where note.id != shown {  // guard: removal-shown
                if await keeper.removal.run(note) { await keeper.removed(note.id) }
            }
        }
        settle()
    }

    /// A removal that was cut short before the list knew of it is none.
    private func unmarkKept() {
        for account in book.accounts { seat.folders.unmark(account.id) }  // guard: account-unmarked
    }

    private func removed(_ id: String) {
        do throws(NacreError) {
            try keep { book in book.removed(id) }
        } catch {
            log.warning("accounts.not_kept", ["reason": .string("\(error)")])
        }
    }

    /// Tells the servers of sessions that are over, with growing waits while one is out of reach (SE-5). Nobody waits for it.
    private func settle() {
        guard !isSettling else { return }
        isSettling = true
        Task { [weak self, time, random] in
            let backoff = Backoff(first: .seconds(5), ceiling: .seconds(300))
            for attempt in 0..<200 {
                guard let left = await self?.settleOnce(), left > 0 else { break }
                let wait: Duration = .seconds(1) + backoff.delay(attempt: attempt, random: random)
                do { try await time.sleep(for: wait) } catch { break }
            }
            await self?.settled()
        }
    }

    private func settleOnce() async -> Int {
        await inOrder { keeper in await keeper.removal.debts.settle() }
    }

    private func settled() { isSettling = false }

    /// Runs `work` after what is already under way.
    private func inOrder<Value: Sendable>(_ work: @escaping @Sendable (AccountKeeper) async -> Value) async -> Value {
        let before = turn
        let task = Task {
            await before?.value
            return await work(self)
        }
        turn = Task { _ = await task.value }
        return await task.value
    }

    // MARK: Links

    /// Takes a hand-off's link that belongs to an attempt of another account, writes it down there, and goes over to that
    /// account where something is left to do. False when it belongs to none.
    func take(_ incoming: IncomingLink, _ link: DeepLink) async -> Bool {
        for account in book.accounts where account.id != seat.book.current {
            for place in seat.folders.places(of: account.id, servers: seat.folders.servers(of: account.id)) {
                guard let file = seat.folders.attemptFile(place) else { continue }
                do {
                    guard let taken = try await take(incoming, link, place, file) else { continue }
                    log.info("accounts.link", ["taken": .string("\(taken)")])
                    if taken != .over { try choose(account) }
                    return true
                } catch {
                    // The attempt is there and waits: the account shows it, and its person can go on from there.
                    log.error("accounts.link", ["reason": .string("\(error)")])
                    try? choose(account)
                    return true
                }
            }
        }
        return false
    }

    private func choose(_ account: Account) throws(NacreError) { _ = try choose(account.id) }

    private func take(
        _ incoming: IncomingLink, _ link: DeepLink, _ place: AppPlace, _ file: String
    ) async throws -> RestingAttempts.Taken? {
        let state = seat.folders.state(place)
        let attempts = RestingAttempts(
            store: try await SQLiteAttemptStore(SQLiteStore(path: file), now: time.now),
            secrets: await removal.secrets(place, state), scheme: scheme, time: time, random: random)
        let taken = try await attempts.take(link)
        if taken == .forPage {
            try await LinkJournal(SQLiteStore(path: state + "/links.sqlite"), now: time.now).keep(
                incoming, now: time.now)
        }
        return taken
    }
}
