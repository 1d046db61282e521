// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreDatabase

/// The keys and databases of one installation, as its configuration says where they are.
struct ServerStores: Sendable {
    let folder: DataFolder
    let keys: ServerKeys
    let gateway: Database
    /// Opens the embedded provider's database.
    let provider: @Sendable () throws(NacreError) -> Database

    init(
        _ configuration: ServerConfiguration, _ folder: DataFolder, time: any TimeSource, random: any RandomSource
    ) async throws {
        try folder.refuseHalfRestored()
        self.folder = folder
        (gateway, provider) = try configuration.openDatabases(folder, time: time)
        keys =
            configuration.isShared
            ? try await ServerKeys(folder, secret: configuration.secret, sharedBy: gateway, time: time, random: random)
            : try ServerKeys(folder, secret: configuration.secret, random: random)
    }
}
