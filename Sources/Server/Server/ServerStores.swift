// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreDatabase

/// The keys and databases of one installation, as its configuration says where they are.
struct ServerStores: Sendable {
    let folder: DataFolder
    let keys: ServerKeys
    let gateway: Database
    private let time: any TimeSource

    init(
        _ configuration: ServerConfiguration, _ folder: DataFolder, time: any TimeSource, random: any RandomSource
    ) async throws {
        try folder.refuseHalfRestored()
        self.folder = folder
        self.time = time
        keys = try ServerKeys(folder, random: random)
        gateway = try Database.sqlite(path: folder.file("gateway.sqlite"), time: time)
    }

    /// The embedded provider's database.
    func provider() throws -> Database { try Database.sqlite(path: folder.file("provider.sqlite"), time: time) }
}
