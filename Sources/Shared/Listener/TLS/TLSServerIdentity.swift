// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore

/// The certificate and key a listener shows to its clients. TLS 1.2 and 1.3, ALPN `http/1.1`.
public struct TLSServerIdentity: Sendable, CustomStringConvertible {
    let context: TLSContext

    /// An identity read from PEM text.
    ///
    /// - Parameters:
    ///   - certificatePEM: the leaf certificate first, then its chain.
    ///   - privateKeyPEM: the leaf's unencrypted private key.
    /// - Throws: `tls.identity`, which says which of the two cannot be used.
    public init(certificatePEM: String, privateKeyPEM: String) throws(NacreError) {
        context = try TLSContext(certificatePEM: certificatePEM, privateKeyPEM: privateKeyPEM)
    }

    /// Never shows the key.
    public var description: String { "TLSServerIdentity" }
}
