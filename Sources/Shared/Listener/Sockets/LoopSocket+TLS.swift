// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import Synchronization

extension LoopSocket {
    /// Completes the TLS handshake; returns at once where there is no TLS.
    func handshake(until deadline: Deadline) async throws {
        while let side = try state.withLock({ state throws(NacreError) -> Readiness? in
            guard state.descriptor >= 0 else { throw Self.closedError }
            guard let tls = state.tls else { return nil }
            let side = try tls.handshake()
            if side == .readable { state.readBlocked = true }
            if side == .writable { state.writeBlocked = true }
            return side
        }) {
            try await waitToRead(side, until: deadline)
        }
    }
}
