// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import COpenSSL
package import NacreCore
import NacreHTTP
import Synchronization

/// Whose certificates an outgoing TLS connection believes: the system's authorities, plus any named here.
package final class TLSTrust: Sendable {
    private final class Handle {
        let context: OpaquePointer
        init(_ context: OpaquePointer) { self.context = context }
        deinit { SSL_CTX_free(context) }
    }

    private let handle: Mutex<Handle>

    /// The system's authorities and those of `additionalPEM` (a company's, a test's).
    ///
    /// - Throws: `tls.trust` when the PEM text cannot be read.
    package init(additionalPEM: String? = nil) throws(NacreError) {
        guard let context = nacre_ssl_client_context() else {
            throw NacreError("tls.trust", "OpenSSL cannot be set up; check the installation of libssl3.")
        }
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)  // guard: channel-tls-verify
        let made = Handle(context)
        if let additionalPEM {
            let bytes = Array(additionalPEM.utf8)
            guard nacre_ssl_trust_pem(context, bytes, Int32(bytes.count)) > 0 else {
                throw NacreError("tls.trust", "The additional authority is no PEM certificate; check the file.")
            }
        }
        handle = Mutex(made)
    }

    /// A client session that accepts `host` only. Its two memory queues belong to it.
    func session(host: String) -> sending TLSClientSession? {
        let bare = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        return handle.withLock { handle in
            guard let ssl = nacre_ssl_client_session(handle.context, bare) else { return nil }
            let isAddress = nacre_is_address(bare) != 0
            SSL_set_hostflags(ssl, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
            let named = isAddress ? 1 : SSL_set1_host(ssl, bare)  // guard: channel-tls-host
            let addressed = isAddress ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), bare) : 1
            guard named == 1, addressed == 1 else {
                SSL_free(ssl)
                return nil
            }
            return TLSClientSession(ssl, host: bare)
        }
    }
}

/// One client session over memory queues. Used only under its stream's lock.
final class TLSClientSession {
    private let ssl: OpaquePointer
    private let host: String
    private var failed = false

    /// Owns the handle.
    init(_ ssl: OpaquePointer, host: String) {
        self.ssl = ssl
        self.host = host
    }

    deinit { SSL_free(ssl) }

    enum Step {
        case done([UInt8])
        case needsBytes
        case ended
    }

    /// One step of the handshake, which checks the certificate and the host name.
    func handshake() throws(NacreError) -> Step {
        ERR_clear_error()
        let result = SSL_do_handshake(ssl)
        return result == 1 ? .done([]) : try outcome(result)
    }

    func read() throws(NacreError) -> Step {
        guard !failed else { return .ended }
        ERR_clear_error()
        var count: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: 16_384) { buffer, used in
            count = SSL_read(ssl, buffer.baseAddress, 16_384)
            used = Int(max(0, count))
        }
        return count > 0 ? .done(bytes) : try outcome(count)
    }

    /// Encrypts all bytes into the outgoing queue, which has no limit of its own.
    func write(_ bytes: ArraySlice<UInt8>) throws(NacreError) {
        guard !failed else { throw NacreError("transport.tls", "The TLS connection has failed; connect again.") }
        ERR_clear_error()
        let count = bytes.withUnsafeBytes { SSL_write(ssl, $0.baseAddress, Int32($0.count)) }
        if count <= 0 { _ = try outcome(count) }
    }

    func endWriting() {
        guard !failed, SSL_is_init_finished(ssl) == 1 else { return }
        if SSL_shutdown(ssl) < 0 { ERR_clear_error() }
    }

    /// Hands in bytes from the network.
    func feed(_ bytes: [UInt8]) { nacre_ssl_feed(ssl, bytes, Int32(bytes.count)) }

    /// Takes the bytes that wait to be sent.
    func takeOutgoing() -> [UInt8] {
        let count = Int(nacre_ssl_outgoing(ssl))
        guard count > 0 else { return [] }
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, used in
            used = max(0, Int(nacre_ssl_drain(ssl, buffer.baseAddress, Int32(count))))
        }
    }

    private func outcome(_ result: Int32) throws(NacreError) -> Step {
        switch SSL_get_error(ssl, result) {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return .needsBytes
        case SSL_ERROR_ZERO_RETURN: return .ended
        default:
            failed = true
            let verify = SSL_get_verify_result(ssl)
            let code = ERR_get_error()
            if verify != Int(X509_V_OK) { throw CertificateFault(verification: verify).error(host: host) }
            let reason = ERR_reason_error_string(code).map { String(cString: $0) } ?? "the connection broke"
            throw NacreError("transport.tls", "The server's TLS cannot be trusted or used: \(reason).")
        }
    }
}
