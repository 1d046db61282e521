// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreDatabase
import NacreJOSE
import NacreKeys

/// Why signing keys are followed by new ones.
public enum KeyRotation: Sendable {
    /// In good time: the new key is published first and signs after `ProviderLifetimes.keyLead`; the old one stays
    /// published for `ProviderLifetimes.retiredKey` after that.
    case planned
    /// Somebody may have the old key: it is withdrawn and the new one signs at once. Tokens it signed are refused from
    /// then on, wherever keys are fetched anew.
    case compromised
}

/// The provider's signing keys: made when first needed, sealed in the database, followed by a new one in time (PV-1).
///
/// Several processes may share the database (nodes, and `nacre admin rotate-keys`): the table is read again every
/// thirty seconds, and a key is published long before it signs, so that every node shows it in time.
actor SigningKeys {
    private struct Entry {
        let id: String
        let key: PrivateKey
        let created: Instant
        let signsFrom: Instant
        let isWithdrawn: Bool
    }

    private static let reloadInterval: Duration = .seconds(30)

    private let table: SealedKeyTable
    private let lifetimes: ProviderLifetimes
    private let time: any TimeSource
    // Making an RSA key takes up to a second of computing.
    private let threads = WorkThreads(limit: 1)
    private var entries: [Entry] = []
    private var loaded: Instant?
    private var making: [SignatureAlgorithm: Task<Void, any Error>] = [:]

    init(
        store: ProviderStore, sealing: SealingKey, lifetimes: ProviderLifetimes, time: any TimeSource,
        random: any RandomSource
    ) {
        table = SealedKeyTable(
            "provider_key", context: "provider_key/",
            refusal: (
                "provider.key_sealed",
                "The provider's signing keys do not open with this secret; give the secret they were made with, "
                    + "or remove the rows of provider_key to start with new keys."
            ), database: store.database, sealing: sealing, random: random)
        self.lifetimes = lifetimes
        self.time = time
    }

    /// Reads the keys.
    ///
    /// - Throws: `provider.key_sealed` when they were sealed with another secret, `database.*`.
    func load() async throws {
        let now = time.now
        let rows = try await table.read(known: Dictionary(entries.map { ($0.id, $0.key) }) { first, _ in first })
        entries = rows.map { row in
            Entry(
                id: row.id, key: row.key, created: row.created,
                signsFrom: row.values["signs_from"].moment ?? row.created,
                isWithdrawn: !row.values["withdrawn_at"].isNull)
        }
        loaded = now
    }

    /// Sees what other processes did. While the database does not answer, the keys at hand go on serving.
    private func refresh() async {
        guard loaded.map({ time.now - $0 >= Self.reloadInterval }) ?? true else { return }
        try? await load()
    }

    /// The key that signs now; when the last is too old, a new one is made that follows it.
    func signer(_ algorithm: SignatureAlgorithm) async throws -> (key: PrivateKey, id: String) {
        await refresh()
        let usable = entries.filter { $0.key.algorithm == algorithm && !$0.isWithdrawn }
        if usable.last.map({ time.now - $0.created >= lifetimes.signingKey }) ?? true {
            try await add(algorithm, .planned, after: usable.last?.id)
        }
        let now = time.now
        let ours = entries.filter { $0.key.algorithm == algorithm && !$0.isWithdrawn }
        guard let current = ours.last(where: { $0.signsFrom <= now }) ?? ours.first else {  // guard: provider-key-lead
            throw NacreError("provider.key", "There is no signing key; try again.")
        }
        return (current.key, current.id)
    }

    /// Follows the present key of `algorithm` by a new one.
    func rotate(_ algorithm: SignatureAlgorithm, _ reason: KeyRotation) async throws {
        try await load()
        try await add(algorithm, reason, after: nil)
    }

    /// With `last`, only when that key is still the last: of two nodes that notice its age at once, one makes the new one.
    private func add(_ algorithm: SignatureAlgorithm, _ reason: KeyRotation, after last: String?) async throws {
        let before = making[algorithm]
        if reason == .planned, let before { return try await before.value }  // guard: provider-key-stolen-meanwhile
        let task = Task {
            // A planned key that is under way withdraws nothing: the one after a theft comes after it.
            _ = await before?.result
            let key = try await threads.run { try PrivateKey.generate(algorithm) }
            let now = time.now
            let (table, sealed) = (table, try table.seal(key, created: now))
            let isFirst = !entries.contains { $0.key.algorithm == algorithm && !$0.isWithdrawn }
            let from = reason == .compromised || isFirst ? now : now + lifetimes.keyLead
            let name = SQLValue.text(algorithm.rawValue)
            try await table.database.write { sql in
                if let last {
                    let row = try sql.first(
                        """
                        SELECT kid FROM provider_key WHERE algorithm = $1 AND withdrawn_at IS NULL
                        ORDER BY id DESC LIMIT 1
                        """, [name])
                    guard try row?.text("kid") == last else { return }
                }
                if isFirst, reason == .planned {
                    // Of two nodes that start on an empty database at once, one makes the first key.
                    let row = try sql.first(
                        "SELECT kid FROM provider_key WHERE algorithm = $1 AND withdrawn_at IS NULL LIMIT 1", [name])
                    guard row == nil else { return }  // guard: provider-first-key
                }
                if reason == .compromised {
                    try sql.execute(
                        "UPDATE provider_key SET withdrawn_at = $1 WHERE algorithm = $2 AND withdrawn_at IS NULL",
                        [SQLValue(now), name])
                }
                try table.insert(sealed, ["algorithm": name, "signs_from": SQLValue(from)], sql)
            }
            try await load()
        }
        making[algorithm] = task
        defer { making[algorithm] = nil }
        try await task.value
    }

    /// What the world sees: of each algorithm the present key, those that will sign, and followed ones for a while.
    func published() async -> JSONWebKeySet {
        await refresh()
        let now = time.now
        let standing = entries.filter { !$0.isWithdrawn }  // guard: provider-key-withdrawn
        let shown = standing.enumerated().filter { index, entry in
            let next = standing[(index + 1)...].first { $0.key.algorithm == entry.key.algorithm }
            return next.map { now < $0.signsFrom + lifetimes.retiredKey } ?? true
        }
        return JSONWebKeySet(shown.map { JSONWebKey($0.element.key.publicKey, id: $0.element.id) })
    }

    /// Every key that was not withdrawn: for ID tokens that come back as hints.
    func all() async -> JSONWebKeySet {
        await refresh()
        return JSONWebKeySet(
            entries.filter { !$0.isWithdrawn }.map { JSONWebKey($0.key.publicKey, id: $0.id) })
    }
}
