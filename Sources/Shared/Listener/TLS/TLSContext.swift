// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import COpenSSL
import NacreCore
import Synchronization

/// What all TLS sessions of one identity share.
final class TLSContext: Sendable {
    /// The C handles and their end.
    private final class Handles {
        let context: OpaquePointer
        let method: OpaquePointer
        init(context: OpaquePointer, method: OpaquePointer) {
            self.context = context
            self.method = method
        }
        deinit {
            SSL_CTX_free(context)
            BIO_meth_free(method)
        }
    }

    private let handles: Mutex<Handles>

    init(certificatePEM: String, privateKeyPEM: String) throws(NacreError) {
        guard let context = nacre_ssl_server_context(), let method = nacre_bio_method() else {
            throw NacreError("tls.identity", "OpenSSL cannot be set up: \(Self.lastError()).")
        }
        let made = Handles(context: context, method: method)
        var certificate = Array(certificatePEM.utf8CString)
        var key = Array(privateKeyPEM.utf8CString)
        defer { for index in key.indices { key[index] = 0 } }
        let code = nacre_ssl_use_identity(
            made.context, &certificate, Int32(certificate.count - 1), &key, Int32(key.count - 1))
        if let problem = Self.problem(code) { throw NacreError("tls.identity", problem) }
        handles = Mutex(made)
    }

    /// What a client needs: the authorities of this PEM file, or the system's.
    ///
    /// - Throws: `tls.authorities`.
    init(authorities path: String?) throws(NacreError) {
        guard let context = nacre_ssl_verifying_context(path), let method = nacre_bio_method() else {
            throw NacreError(
                "tls.authorities",
                "The certificate authorities \(path.map { "in \($0)" } ?? "of the system") cannot be used; "
                    + "give a readable PEM file.")
        }
        handles = Mutex(Handles(context: context, method: method))
    }

    private static func problem(_ code: Int32) -> String? {
        switch code {
        case 0: nil
        case 1: "The certificate is not usable PEM; give the leaf certificate first, then its chain."
        case 2: "A certificate of the chain is not usable; check the PEM file."
        case 3: "The private key is not usable PEM, or it is encrypted; give an unencrypted key."
        default: "The private key does not belong to the certificate; give the pair made together."
        }
    }

    /// A session over this descriptor, which stays the caller's.
    func session(_ descriptor: Int32) -> sending TLSSession? {
        handles.withLock { handles in
            nacre_ssl_accepting(handles.context, handles.method, descriptor).map { TLSSession($0, context: self) }
        }
    }

    /// A client's session over this descriptor, which stays the caller's; the certificate must be this host's.
    func session(_ descriptor: Int32, host: String) -> sending TLSSession? {
        let bare = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        let isAddress = nacre_is_address(bare)
        return handles.withLock { handles in
            nacre_ssl_connecting(handles.context, handles.method, descriptor, bare, isAddress)
                .map { TLSSession($0, context: self) }
        }
    }

    /// The library's words for its last error on this thread.
    static func lastError() -> String {
        let code = ERR_get_error()
        guard code != 0, let reason = ERR_reason_error_string(code) else { return "no reason given" }
        return String(cString: reason)
    }
}
