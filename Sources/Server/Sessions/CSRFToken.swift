// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore

/// Proves that a request was written by a page that could read an answer of ours.
///
/// Every token is the session's secret under a fresh mask, so that compressed pages do not give it away byte by byte.
package enum CSRFToken {
    private static let length = 32

    /// A token for a page: mask, then secret under the mask.
    package static func make(secret: [UInt8], random: any RandomSource) -> String {
        let mask = random.bytes(length)
        return Base64URL.encode(mask + zip(mask, secret).map { $0 ^ $1 })
    }

    /// Whether `token` belongs to `secret`; constant time.
    package static func isValid(_ token: String, secret: [UInt8]) -> Bool {
        guard let bytes = Base64URL.decode(token), bytes.count == 2 * length, secret.count == length else {
            return false
        }
        let unmasked = zip(bytes[..<length], bytes[length...]).map { $0 ^ $1 }
        return constantTimeEqual(unmasked, secret)
    }
}
