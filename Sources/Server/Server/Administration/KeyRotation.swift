// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreProvider

/// Keys that can be followed by new ones while the server runs.
struct KeyRotation: Sendable {
    /// What they are called on the command line.
    let name: String
    let rotate: @Sendable () async throws -> Void
}

extension Administration {
    /// What there is to rotate in this installation.
    func rotations(_ stores: ServerStores) -> [KeyRotation] {
        var result = [KeyRotation(name: "identity") { try stores.folder.rotateIdentity() }]
        if configuration.provider.enabled {
            result.append(KeyRotation(name: "provider") { try await provider(stores).rotateKeys() })
        }
        return result
    }
}
