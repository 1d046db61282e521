// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore

/// Keys that can be followed by new ones while the server runs.
struct KeyRotation: Sendable {
    /// What they are called on the command line.
    let name: String
    let rotate: @Sendable () async throws -> Void
}

extension Administration {
    /// What there is to rotate in this installation. Running servers see the new keys in the database.
    func rotations(stolen: Bool) async throws -> [KeyRotation] {
        let server = try await NacreServer(configuration, log: log, time: time, random: random)
        var result = [KeyRotation(name: "identity") { try await server.rotateIdentityKey(stolen: stolen) }]
        if server.hasTokens {
            result.append(KeyRotation(name: "tokens") { try await server.rotateTokenKeys(stolen: stolen) })
        }
        if configuration.provider.enabled {
            result.append(KeyRotation(name: "provider") { try await server.rotateProviderKeys(stolen: stolen) })
        }
        return result
    }
}
