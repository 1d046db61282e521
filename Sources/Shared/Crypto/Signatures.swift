// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import COpenSSL
public import NacreCore

extension PrivateKey {
    /// The signature of `message`, in the form JOSE uses (RFC 7518 section 3, RFC 8037).
    ///
    /// - Throws: `crypto.sign`.
    public func signature(of message: some Collection<UInt8>) throws(NacreError) -> [UInt8] {
        let input = Array(message)
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        var length = 0
        guard EVP_DigestSignInit(context, nil, digestKind(algorithm), nil, handle.pointer) == 1,
            EVP_DigestSign(context, nil, &length, input, input.count) == 1
        else { throw opensslFault("crypto.sign", "Signing failed; check the key.") }
        var out = [UInt8](repeating: 0, count: length)
        guard EVP_DigestSign(context, &out, &length, input, input.count) == 1 else {
            throw opensslFault("crypto.sign", "Signing failed; check the key.")
        }
        let signature = Array(out.prefix(length))
        guard algorithm == .es256 else { return signature }
        guard let fixed = fixedForm(der: signature) else {
            throw opensslFault("crypto.sign", "Signing failed; check the key.")
        }
        return fixed
    }
}

extension PublicKey {
    /// Whether `signature` is this key's over `message`. Malformed signatures are just not valid.
    public func isValid(_ signature: some Collection<UInt8>, for message: some Collection<UInt8>) -> Bool {
        var proof = Array(signature)
        let input = Array(message)
        if algorithm == .es256 {
            guard let der = derForm(fixed: proof) else { return false }
            proof = der
        }
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        defer { ERR_clear_error() }
        guard EVP_DigestVerifyInit(context, nil, digestKind(algorithm), nil, handle.pointer) == 1 else { return false }
        return EVP_DigestVerify(context, proof, proof.count, input, input.count) == 1  // guard: crypto-verify
    }
}

private func digestKind(_ algorithm: SignatureAlgorithm) -> OpaquePointer? {
    algorithm == .edDSA ? nil : EVP_sha256()
}

/// ECDSA: OpenSSL's DER form to r then s, 32 bytes each.
private func fixedForm(der: [UInt8]) -> [UInt8]? {
    der.withUnsafeBufferPointer { buffer in
        var start = buffer.baseAddress
        guard let pair = d2i_ECDSA_SIG(nil, &start, der.count) else { return nil }
        defer { ECDSA_SIG_free(pair) }
        var r = [UInt8](repeating: 0, count: 32)
        var s = [UInt8](repeating: 0, count: 32)
        guard BN_bn2binpad(ECDSA_SIG_get0_r(pair), &r, 32) == 32, BN_bn2binpad(ECDSA_SIG_get0_s(pair), &s, 32) == 32
        else { return nil }
        return r + s
    }
}

/// ECDSA: r then s to OpenSSL's DER form.
private func derForm(fixed: [UInt8]) -> [UInt8]? {
    guard fixed.count == 64, let pair = ECDSA_SIG_new() else { return nil }
    defer { ECDSA_SIG_free(pair) }
    let r = BN_bin2bn(Array(fixed[..<32]), 32, nil)
    let s = BN_bin2bn(Array(fixed[32...]), 32, nil)
    // From here the pair owns the numbers.
    guard ECDSA_SIG_set0(pair, r, s) == 1 else { return nil }
    let length = i2d_ECDSA_SIG(pair, nil)
    guard length > 0 else { return nil }
    var out = [UInt8](repeating: 0, count: Int(length))
    let written = out.withUnsafeMutableBufferPointer { buffer in
        var start = buffer.baseAddress
        return i2d_ECDSA_SIG(pair, &start)
    }
    return written == length ? out : nil
}
