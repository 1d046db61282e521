// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore

/// Where secrets rest on this device (SE-1). Names are our own, such as `session.cookies`; values are small.
package protocol SecretStore: Sendable {
    /// Which kind of store this is, for the version report and for the person.
    var kind: SecretStoreKind { get }
    /// Whether secrets can be had now.
    func availability() async -> SecretStoreAvailability
    /// The secret, or nil when there is none of that name.
    /// - Throws: `secrets.locked` when the store must be unlocked first, `secrets.absent` when it cannot be reached,
    ///   `secrets.damaged` when what is stored cannot be read.
    func read(_ name: String) async throws(NacreError) -> [UInt8]?
    /// Stores durably. - Throws: as above, and `secrets.write_failed` (SE-2).
    func write(_ name: String, _ value: [UInt8]) async throws(NacreError)
    /// Removes; harmless when there is none.
    func remove(_ name: String) async throws(NacreError)
    /// Asks the person to unlock, where the platform can; returns whether it is open now.
    func unlock() async -> Bool
}

/// The kinds of secret store, in the order they are tried on Linux.
package enum SecretStoreKind: String, Sendable {
    case portal
    case secretService = "secret-service"
    case passphrase
    case memory
}

/// *Locked* is a state of its own: the page opens and API calls wait; nobody is signed out by it.
package enum SecretStoreAvailability: Sendable, Equatable {
    case available
    case locked
    case absent
}
