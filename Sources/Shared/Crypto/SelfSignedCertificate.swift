// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import COpenSSL
public import NacreCore

/// A certificate that signs itself, for a TLS endpoint whose only client is told to accept exactly this certificate.
public struct SelfSignedCertificate: Sendable {
    /// The certificate in PEM form.
    public let certificatePEM: String
    /// Its key in PEM form: a secret, kept in memory only.
    public let privateKeyPEM: String

    /// A new P-256 certificate for these DNS names (or IPv4 addresses), valid from an hour before `now` for `days` days.
    ///
    /// - Throws: `crypto.certificate` when a name is none.
    public init(names: [String], now: Instant, days: Int = 30, random: any RandomSource = SystemRandom())
        throws(NacreError)
    {
        guard let first = names.first, names.allSatisfy(Self.isName) else {
            throw NacreError("crypto.certificate", "A certificate needs DNS names or IPv4 addresses, nothing else.")
        }
        let key = try PrivateKey.generate(.es256)
        let fault = NacreError("crypto.certificate", "Making the certificate failed; try again.")
        guard let certificate = X509_new() else { throw fault }
        defer { X509_free(certificate) }
        // The top bit off keeps the serial positive (RFC 5280 section 4.1.2.2).
        var serialBytes = random.bytes(16)
        serialBytes[0] &= 0x7F
        let serial = BN_bin2bn(serialBytes, 16, nil)
        defer { BN_free(serial) }
        let subject = X509_get_subject_name(certificate)
        // 0x1001 is MBSTRING_ASC, a composed macro; a common name has at most 64 characters.
        guard X509_set_version(certificate, 2) == 1,
            BN_to_ASN1_INTEGER(serial, X509_get_serialNumber(certificate)) != nil,
            ASN1_TIME_set(X509_getm_notBefore(certificate), Int(now.seconds - 3600)) != nil,
            ASN1_TIME_set(X509_getm_notAfter(certificate), Int(now.seconds) + days * 86_400) != nil,
            X509_set_pubkey(certificate, key.handle.pointer) == 1,
            X509_NAME_add_entry_by_txt(subject, "CN", 0x1001, Array(first.utf8.prefix(64)), -1, -1, 0) == 1
                || X509_NAME_add_entry_by_txt(subject, "CN", 0x1001, "localhost", -1, -1, 0) == 1,
            X509_set_issuer_name(certificate, subject) == 1
        else { throw fault }
        let alternatives = names.map { (Self.isAddress($0) ? "IP:" : "DNS:") + $0 }.joined(separator: ",")
        for (kind, value) in [
            (NID_subject_alt_name, alternatives), (NID_basic_constraints, "critical,CA:FALSE"),
            (NID_ext_key_usage, "serverAuth"),
        ] {
            guard let part = X509V3_EXT_conf_nid(nil, nil, kind, value) else { throw fault }
            defer { X509_EXTENSION_free(part) }
            guard X509_add_ext(certificate, part, -1) == 1 else { throw fault }
        }
        guard X509_sign(certificate, key.handle.pointer, EVP_sha256()) > 0,
            let pem = withMemoryBIO({ PEM_write_bio_X509($0, certificate) })
        else { throw fault }
        certificatePEM = pem
        privateKeyPEM = key.pem
    }

    // The names go into OpenSSL's configuration syntax, where a comma would begin another entry.
    private static func isName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 253
            && text.utf8.allSatisfy {
                switch $0 {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }

    private static func isAddress(_ text: String) -> Bool {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts.allSatisfy { UInt8($0) != nil }
    }
}
