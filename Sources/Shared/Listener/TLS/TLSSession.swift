// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import COpenSSL
import NacreCore

/// One side of a TLS connection over a non-blocking descriptor. Used only under its socket's lock.
final class TLSSession {
    /// The largest record TLS allows.
    private static let record = 16_384

    private let ssl: OpaquePointer
    /// Kept alive: OpenSSL counts the references to its context but not those to the BIO method.
    private let context: TLSContext
    private var failed = false

    /// Owns the handle.
    init(_ ssl: OpaquePointer, context: TLSContext) {
        self.ssl = ssl
        self.context = context
    }

    deinit { SSL_free(ssl) }

    /// One step of the handshake: nil when it is done, else what to wait for.
    func handshake() throws(NacreError) -> Readiness? {
        ERR_clear_error()
        let result = SSL_do_handshake(ssl)
        guard result != 1 else { return nil }
        guard case .wait(let side) = try outcome(result) else { throw Self.goneError }
        return side
    }

    func receive(_ limit: Int) throws(NacreError) -> LoopSocket.Received {
        guard !failed else { throw Self.goneError }
        ERR_clear_error()
        let size = min(limit, Self.record)
        var count: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, used in
            count = SSL_read(ssl, buffer.baseAddress, Int32(size))
            used = Int(max(0, count))
        }
        if count > 0 { return .bytes(bytes.count * 4 < size ? Array(bytes[...]) : bytes) }
        return try outcome(count)
    }

    func send(_ bytes: [UInt8], from start: Int) throws(NacreError) -> LoopSocket.Sent {
        guard !failed else { throw Self.goneError }
        ERR_clear_error()
        let count = bytes.withUnsafeBytes { buffer in
            let rest = UnsafeRawBufferPointer(rebasing: buffer[start...])
            return SSL_write(ssl, rest.baseAddress, Int32(clamping: rest.count))
        }
        if count > 0 { return .sent(Int(count)) }
        guard case .wait(let side) = try outcome(count) else { throw Self.goneError }
        return .wait(side)
    }

    /// Says that nothing more will be sent; one try, since it never waits.
    func notifyClose() {
        guard !failed, SSL_is_init_finished(ssl) == 1 else { return }
        ERR_clear_error()
        if SSL_shutdown(ssl) < 0 { ERR_clear_error() }
    }

    private static var goneError: NacreError { NacreError("socket.peer_gone", "The other side has left.") }

    private func outcome(_ result: Int32) throws(NacreError) -> LoopSocket.Received {
        switch SSL_get_error(ssl, result) {
        case SSL_ERROR_WANT_READ: return .wait(.readable)
        case SSL_ERROR_WANT_WRITE: return .wait(.writable)
        case SSL_ERROR_ZERO_RETURN: return .end
        case SSL_ERROR_SYSCALL:
            failed = true  // after these two no SSL_* call but SSL_free is allowed
            throw Self.goneError
        default:
            failed = true
            if nacre_ssl_is_unexpected_end(ERR_peek_error()) == 1 { throw Self.goneError }
            throw NacreError("tls.failed", "The TLS connection failed: \(TLSContext.lastError()).")
        }
    }
}
