// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacrePorts
import Synchronization

/// The first store of several that is there at all (SE-1): portal, Secret Service, passphrase, memory.
///
/// Decided once for the life of the process. A locked store *is* there: the chain then stays locked with it and never
/// goes on to a later one, for that would look like a sign-out.
package final class SecretStoreChain: SecretStore {
    /// How long a store that was used before may take to appear: at login an app may start before the keyring.
    private static let patience: [Duration] = Array(repeating: .milliseconds(200), count: 15)

    private let stores: [any SecretStore]
    private let usedBefore: SecretStoreKind?
    private let time: any TimeSource
    private let log: Log
    private let chosen = Mutex<(any SecretStore)?>(nil)

    /// - Parameters:
    ///   - stores: in the order in which they are tried; the last should be memory.
    ///   - usedBefore: the kind that kept the secrets last time; it is given a few seconds to appear, because going on
    ///     without it would look like a sign-out.
    package init(
        _ stores: [any SecretStore], usedBefore: SecretStoreKind? = nil, time: any TimeSource = SystemTime(),
        log: Log = .none
    ) {
        self.stores = stores
        self.usedBefore = usedBefore
        self.time = time
        self.log = log
    }

    /// Which store keeps the secrets; memory until that is decided.
    package var kind: SecretStoreKind { chosen.withLock { $0?.kind } ?? .memory }

    package func availability() async -> SecretStoreAvailability {
        await choose()?.availability ?? .absent
    }

    package func read(_ name: String) async throws(NacreError) -> [UInt8]? { try await store().read(name) }
    package func write(_ name: String, _ value: [UInt8]) async throws(NacreError) {
        try await store().write(name, value)
    }
    package func remove(_ name: String) async throws(NacreError) { try await store().remove(name) }
    package func unlock() async -> Bool { await choose()?.store.unlock() ?? false }

    private func store() async throws(NacreError) -> any SecretStore {
        guard let choice = await choose() else {
            throw NacreError("secrets.absent", "This system has no place for secrets; start a keyring service.")
        }
        return choice.store
    }

    private func choose() async -> (store: any SecretStore, availability: SecretStoreAvailability)? {
        if let store = chosen.withLock({ $0 }) { return (store, await store.availability()) }
        for store in stores {
            let availability = await patiently(store)
            guard availability != .absent else { continue }  // guard: secrets-locked-stays
            // Two first callers may both get here; the first to settle it decides for both.
            let settled = chosen.withLock { chosen in
                if chosen == nil { chosen = store }
                return chosen ?? store
            }
            log.info("secrets.store", ["kind": .string(settled.kind.rawValue)])
            return (settled, await settled.availability())
        }
        return nil
    }

    private func patiently(_ store: any SecretStore) async -> SecretStoreAvailability {
        var availability = await store.availability()
        guard store.kind == usedBefore else { return availability }
        for wait in Self.patience where availability == .absent {
            do { try await time.sleep(for: wait) } catch { break }
            availability = await store.availability()
        }
        return availability
    }
}
