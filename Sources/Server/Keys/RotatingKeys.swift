// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreCrypto
import NacreDatabase
import NacreJOSE
import Synchronization

/// Signing keys (ES256) that follow each other, shared by every process of one database and sealed there.
///
/// A new key is known to everybody before it signs. The one before it is trusted until the last of its tokens is dead;
/// then its row goes. Keys that may be stolen go at once. The table has a column `tail` beside those of every
/// `SealedKeyTable`: for how many milliseconds after its successor began to sign a key is still needed.
package final class RotatingKeys: Sendable {
    /// How keys follow each other.
    package struct Life: Sendable {
        /// How long a key is known before it signs: longer than anybody keeps an older list of keys.
        package var lead: Duration
        /// How long a key is trusted after its successor began to sign: as long as its tokens live, clocks included.
        package var tail: Duration
        /// After so long a key is followed by a new one.
        package var age: Duration
        /// How often the table is read again: what a stolen key may be trusted for in another process.
        package var refresh: Duration = .seconds(10)

        package init(lead: Duration, tail: Duration, age: Duration) {
            self.lead = lead
            self.tail = tail
            self.age = age
        }
    }

    /// One key.
    package struct Entry: Sendable {
        package let id: String
        package let key: PrivateKey
        package let created: Instant
        let tail: Duration
    }

    /// Tokens that name a key nobody has cause one look at the table in so long, however many they are.
    package static let missInterval: Duration = .seconds(1)

    private struct State {
        var entries: [Entry] = []
        /// When the table was last read, or was to be.
        var readAt: Instant?
        /// When it was last read for a token that names an unknown key.
        var missedAt: Instant?
        var reading: Task<Void, any Error>?
        /// Numbers the reads: an older answer never replaces a younger one.
        var begun = 0
        var stored = 0
    }

    private let table: SealedKeyTable
    private let life: Life
    private let time: any TimeSource
    private let log: Log
    private let event: String
    private let state = Mutex(State())

    /// The keys of `table`; events are logged as `event.key_added` and the like.
    package init(_ table: SealedKeyTable, life: Life, time: any TimeSource, log: Log, event: String) {
        self.table = table
        self.life = life
        self.time = time
        self.log = log
        self.event = event
    }

    // MARK: The life of keys

    /// Makes the first key where there is none (`first`, or a new one), and keeps those that sign as long as tokens live
    /// by the present settings. Of several processes that start at once, one makes the key.
    ///
    /// - Throws: the table's refusal when the keys were sealed with another secret, `database.*`.
    package func prepare(first: PrivateKey? = nil) async throws {
        let key = try table.seal(first ?? .generate(.es256), created: time.now)
        let tail = SQLValue.integer(life.tail.inMilliseconds)
        let signing = SQLValue(time.now - life.lead)
        let (table, name, counter) = (table, table.name, table.counter)
        try await table.database.write { sql in
            let count = try sql.first("SELECT COUNT(*) AS number FROM \(name)")?.integer("number")
            if count == 0 { return try table.insert(key, ["tail": tail], sql) }
            // Tokens were perhaps shorter when these keys were made; what signs no more need not last longer for that.
            try sql.execute(
                """
                UPDATE \(name) SET tail = $1 WHERE tail < $1 AND NOT EXISTS (SELECT 1 FROM \(name) AS next
                    WHERE next.\(counter) > \(name).\(counter) AND next.created_at <= $2)
                """,  // guard: key-tail-kept
                [tail, signing])
        }
        try await read()
    }

    /// Follows the present key by a new one, which signs after the lead time in every process.
    ///
    /// With `stolen` the new one signs at once, and no key from before is trusted any more: here from now on, in other
    /// processes as soon as they read the table again.
    package func rotate(stolen: Bool = false) async throws {
        let key = try table.seal(.generate(.es256), created: time.now)
        let tail = SQLValue.integer(life.tail.inMilliseconds)
        let table = table
        try await table.database.write { sql in
            if stolen { try sql.execute("DELETE FROM \(table.name)") }  // guard: key-stolen
            try table.insert(key, ["tail": tail], sql)
        }
        log.notice(event + ".key_added", ["kid": .string(key.id), "stolen": .bool(stolen)])
        try await read()
    }

    /// Follows a key that is old enough and removes those that nobody needs any more; call it every few minutes.
    package func maintain() async throws {
        let key = try table.seal(.generate(.es256), created: time.now)
        let (table, life, now) = (table, life, time.now)
        let added = try await table.database.write { sql -> Bool in
            let keys = try sql.query("SELECT kid, created_at, tail FROM \(table.name) ORDER BY \(table.counter)")
            for (key, next) in zip(keys, keys.dropFirst()) {
                // Gone only once its successor has signed for so long that every token of it is dead.
                let end = try next.moment("created_at") + life.lead + .milliseconds(key.integer("tail"))
                guard now >= end else { continue }  // guard: identity-key-tail
                try sql.execute("DELETE FROM \(table.name) WHERE kid = $1", [.text(try key.text("kid"))])
            }
            guard let newest = try keys.last?.moment("created_at"), now >= newest + life.age else { return false }
            try table.insert(key, ["tail": .integer(life.tail.inMilliseconds)], sql)
            return true
        }
        if added { log.notice(event + ".key_added", ["kid": .string(key.id)]) }
        try await read()
    }

    // MARK: Using keys

    /// The key that signs now; the first one is made where there is none.
    package func signer() async throws -> Entry {
        await refreshIfOld()
        if let entry = current { return entry }
        try await prepare()
        guard let entry = current else { throw NacreError("keys.none", "There is no signing key; try again.") }
        return entry
    }

    private var current: Entry? {
        let now = time.now
        return state.withLock { state in
            // guard: identity-key-lead
            state.entries.last { $0.created + life.lead <= now } ?? state.entries.first
        }
    }

    /// The public half of the key called `id` while it is trusted, or nil.
    package func verifier(_ id: String) async throws -> PublicKey? {
        let isFresh = await refreshIfOld()
        if let key = trusted(id) { return key }
        // While the table is being read nobody knows that there is no such key.
        if let reading = state.withLock({ $0.reading }) {  // guard: key-read-joined
            try await reading.value
            if let key = trusted(id) { return key }
        }
        let now = time.now
        let isDue = state.withLock { state in
            // guard: token-key-storm
            if let at = state.missedAt, now >= at, now - at < Self.missInterval { return false }
            state.missedAt = now
            return !isFresh
        }
        guard isDue else { return nil }
        do { try await load() } catch {
            // An outage must not make every token unknown.
            state.withLock { $0.missedAt = nil }
            throw error
        }
        return trusted(id)
    }

    /// Every key that tokens may be signed by at present, those to come included.
    package func trusted() async -> [Entry] {
        await refreshIfOld()
        let now = time.now
        return state.withLock { state in
            state.entries.indices.filter { isTrusted($0, state.entries, now) }.map { state.entries[$0] }
        }
    }

    private func trusted(_ id: String) -> PublicKey? {
        let now = time.now
        return state.withLock { state in
            guard let index = state.entries.firstIndex(where: { areIdentical($0.id, id) }),
                isTrusted(index, state.entries, now)
            else { return nil }
            return state.entries[index].key.publicKey
        }
    }

    private func isTrusted(_ index: Int, _ entries: [Entry], _ now: Instant) -> Bool {
        guard index + 1 < entries.count else { return true }
        return now < entries[index + 1].created + life.lead + entries[index].tail  // guard: key-tail
    }

    // MARK: Reading

    /// Other processes may have added keys or taken them away. When the database does not answer, the keys known so far
    /// serve on. True when the table was read just now.
    @discardableResult
    private func refreshIfOld() async -> Bool {
        let now = time.now
        let isDue = state.withLock { state in
            if state.reading != nil { return false }
            if let at = state.readAt, now >= at, now - at < life.refresh { return false }  // guard: key-refresh
            // The others go on with what is known.
            state.readAt = now
            return true
        }
        guard isDue else { return false }
        do { try await load() } catch {
            log.warning(event + ".keys_unread", ["error": .string("\(error)")])
            return false
        }
        return true
    }

    /// Reads the table, once for all who ask meanwhile.
    private func load() async throws {
        let task = state.withLock { state -> Task<Void, any Error> in
            if let reading = state.reading { return reading }
            let task = Task {
                defer { self.state.withLock { $0.reading = nil } }
                try await self.read()
            }
            state.reading = task
            return task
        }
        try await task.value
    }

    private func read() async throws {
        let (number, known) = state.withLock { state in
            state.begun += 1
            return (state.begun, state.entries)
        }
        let rows = try await table.read(known: Dictionary(known.map { ($0.id, $0.key) }) { first, _ in first })
        let entries = try rows.map { row throws(NacreError) in
            Entry(
                id: row.id, key: row.key, created: row.created,
                tail: .milliseconds(try row.values.integer("tail")))
        }
        let now = time.now
        state.withLock { state in
            guard number > state.stored else { return }
            (state.entries, state.stored, state.readAt) = (entries, number, now)
        }
    }
}
