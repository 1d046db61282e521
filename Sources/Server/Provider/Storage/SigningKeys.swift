// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreDatabase
import NacreJOSE

/// The provider's signing keys: made when first needed, sealed in the database, followed by a new one in time (PV-1).
actor SigningKeys {
    private struct Entry {
        let id: String
        let key: PrivateKey
        let created: Instant
    }

    private let store: ProviderStore
    private let sealing: SealingKey
    private let lifetimes: ProviderLifetimes
    private let time: any TimeSource
    private let random: any RandomSource
    // Making an RSA key takes up to a second of computing.
    private let threads = WorkThreads(limit: 1)
    private var entries: [Entry] = []
    private var making: [SignatureAlgorithm: Task<Void, any Error>] = [:]

    init(
        store: ProviderStore, sealing: SealingKey, lifetimes: ProviderLifetimes, time: any TimeSource,
        random: any RandomSource
    ) {
        self.store = store
        self.sealing = sealing
        self.lifetimes = lifetimes
        self.time = time
        self.random = random
    }

    /// Reads the keys.
    ///
    /// - Throws: `crypto.open` when they were sealed with another secret.
    func load() async throws {
        let rows = try await store.database.read { sql in
            try sql.query("SELECT kid, sealed_key, created_at FROM provider_key ORDER BY id")
        }
        var loaded: [Entry] = []
        for row in rows {
            let id = try row.text("kid")
            let text: [UInt8]
            do { text = try sealing.open(try row.blob("sealed_key"), context: Self.context(id)) } catch {
                throw NacreError(
                    "provider.key_sealed",
                    "The provider's signing keys do not open with this secret; give the secret they were made with, "
                        + "or remove the rows of provider_key to start with new keys.", cause: error)
            }
            loaded.append(
                Entry(
                    id: id, key: try PrivateKey(pem: String(decoding: text, as: UTF8.self)),
                    created: try row.moment("created_at")))
        }
        entries = loaded
    }

    /// The key that signs now; a new one when the last is too old.
    func signer(_ algorithm: SignatureAlgorithm) async throws -> (key: PrivateKey, id: String) {
        let newest = entries.last { $0.key.algorithm == algorithm }
        if newest.map({ time.now - $0.created >= lifetimes.signingKey }) ?? true { try await add(algorithm) }
        guard let current = entries.last(where: { $0.key.algorithm == algorithm }) else {
            throw NacreError("provider.key", "There is no signing key; try again.")
        }
        return (current.key, current.id)
    }

    /// Follows the present key of `algorithm` by a new one.
    func add(_ algorithm: SignatureAlgorithm) async throws {
        if let task = making[algorithm] { return try await task.value }
        let task = Task {
            let key = try await threads.run { try PrivateKey.generate(algorithm) }
            let id = JSONWebKey.thumbprint(of: key.publicKey)
            let sealed = try sealing.seal(key.pem.utf8, context: Self.context(id), random: random)
            let now = time.now
            try await store.database.write { sql in
                _ = try sql.execute(
                    "INSERT INTO provider_key (kid, algorithm, sealed_key, created_at) VALUES ($1, $2, $3, $4)",
                    [.text(id), .text(algorithm.rawValue), .blob(sealed), SQLValue(now)])
            }
            entries.append(Entry(id: id, key: key, created: now))
        }
        making[algorithm] = task
        defer { making[algorithm] = nil }
        try await task.value
    }

    /// What the world sees: of each algorithm the present key, and followed ones for a while.
    func published() -> JSONWebKeySet {
        let now = time.now
        let shown = entries.enumerated().filter { index, entry in
            let next = entries[(index + 1)...].first { $0.key.algorithm == entry.key.algorithm }
            return next.map { now < $0.created + lifetimes.retiredKey } ?? true
        }
        return JSONWebKeySet(shown.map { JSONWebKey($0.element.key.publicKey, id: $0.element.id) })
    }

    /// Every key there ever was: for ID tokens that come back as hints.
    func all() -> JSONWebKeySet {
        JSONWebKeySet(entries.map { JSONWebKey($0.key.publicKey, id: $0.id) })
    }

    private static func context(_ id: String) -> [UInt8] { Array("provider_key/\(id)".utf8) }
}
