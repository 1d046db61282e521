// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacrePorts

extension SecretStore {
    /// A secret; nil also where what is stored can no longer be read, for nothing can be done with that.
    ///
    /// - Throws: `secrets.*`, but for `secrets.damaged`.
    func readWhole(_ name: String) async throws(NacreError) -> [UInt8]? {
        do throws(NacreError) { return try await read(name) } catch {
            guard error.code == "secrets.damaged" else { throw error }
            return nil
        }
    }
}
