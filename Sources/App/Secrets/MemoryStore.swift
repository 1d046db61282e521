// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacrePorts
import Synchronization

/// Keeps secrets until the process ends: the last resort, and the app says so.
package final class MemoryStore: SecretStore {
    package let kind = SecretStoreKind.memory
    private let values = Mutex<[String: [UInt8]]>([:])

    package init() {}

    package func availability() async -> SecretStoreAvailability { .available }
    package func read(_ name: String) async throws(NacreError) -> [UInt8]? { values.withLock { $0[name] } }
    package func write(_ name: String, _ value: [UInt8]) async throws(NacreError) {
        values.withLock { $0[name] = value }
    }
    package func remove(_ name: String) async throws(NacreError) {
        values.withLock { _ = $0.removeValue(forKey: name) }
    }
    package func unlock() async -> Bool { true }
}
