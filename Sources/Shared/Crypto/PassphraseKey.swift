// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CSodium
package import NacreCore

/// A sealing key made of a passphrase with Argon2id (RFC 9106). Blocks for as long as the cost says: call it on a
/// thread of its own.
package enum PassphraseKey {
    /// How many bytes of salt go with a key.
    package static let saltLength = Int(crypto_pwhash_SALTBYTES)
    /// Longer passphrases are refused.
    package static let longest = 1024

    /// - Throws: `crypto.passphrase` for a salt of another length or a passphrase that is too long, `crypto.memory`.
    package static func derive(
        _ passphrase: String, salt: [UInt8], cost: PasswordCost
    ) throws(NacreError) -> SealingKey {
        guard salt.count == saltLength, passphrase.utf8.count <= longest else {
            throw NacreError("crypto.passphrase", "A passphrase has at most \(longest) bytes.")
        }
        precondition(sodium_init() >= 0, "libsodium cannot start: the system has no randomness")
        var key = [UInt8](repeating: 0, count: SealingKey.length)
        let text = passphrase.utf8CString
        let result = text.withUnsafeBufferPointer { buffer in
            // The terminating zero is there so that the pointer is never null; it is not hashed.
            crypto_pwhash(
                &key, UInt64(key.count), buffer.baseAddress!, UInt64(text.count - 1), salt, UInt64(cost.passes),
                cost.memory, crypto_pwhash_ALG_ARGON2ID13)
        }
        guard result == 0 else {
            throw NacreError("crypto.memory", "There is not enough memory to open the passphrase store; try again.")
        }
        return try SealingKey(key)
    }
}
