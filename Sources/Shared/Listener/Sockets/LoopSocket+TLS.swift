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

    /// Makes it a TLS client of `host` and completes the handshake.
    ///
    /// - Throws: `tls.failed` for a certificate that is not the host's, `socket.*`.
    func startTLS(_ context: TLSContext, host: String, until deadline: Deadline) async throws {
        let made = state.withLock { state in
            guard state.descriptor >= 0 else { return false }
            state.tls = context.session(state.descriptor, host: host)
            return state.tls != nil
        }
        guard made else {
            throw NacreError("tls.session", "OpenSSL cannot start a session: \(TLSContext.lastError()).")
        }
        try await handshake(until: deadline)
    }
}
