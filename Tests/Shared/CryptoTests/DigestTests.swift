// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import Testing

@Suite("Digests, MACs and derived keys")
struct DigestTests {
    @Test("SHA-256 and SHA-512 of abc (FIPS 180-4)")
    func digests() {
        #expect(
            Hex.encode(SHA256.hash("abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(
            Hex.encode(SHA512.hash(Array("abc".utf8)))
                == "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f")
    }

    @Test("SHA-256 in pieces is SHA-256 of the whole")
    func pieces() {
        let bytes = Array(0..<UInt8.max)
        var hasher = SHA256Hasher()
        for byte in bytes { hasher.update([byte]) }
        hasher.update([])
        #expect(hasher.finish() == SHA256.hash(bytes))
    }

    @Test(
        "HMAC-SHA-256 (RFC 4231 cases 1 and 2, and an empty key)",
        arguments: [
            (
                String(repeating: "0b", count: 20), "Hi There",
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
            ),
            (
                "4a656665", "what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
            ),
            ("", "", "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"),
        ])
    func mac(key: String, message: String, code: String) throws {
        let key = try #require(Hex.decode(key))
        let result = HMACSHA256.authenticate(Array(message.utf8), key: key)
        #expect(Hex.encode(result) == code)
        #expect(HMACSHA256.isValid(result, for: Array(message.utf8), key: key))
        #expect(!HMACSHA256.isValid(result, for: Array((message + "!").utf8), key: key))
        #expect(!HMACSHA256.isValid(result.dropLast(), for: Array(message.utf8), key: key))
    }

    @Test("HKDF-SHA-256 (RFC 5869 cases 1 and 3)")
    func hkdf() {
        let secret = [UInt8](repeating: 0x0B, count: 22)
        let first = HKDFSHA256.derive(from: secret, salt: Array(0...12), infoBytes: Array(0xF0...0xF9), count: 42)
        #expect(
            Hex.encode(first)
                == "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865")
        let third = HKDFSHA256.derive(from: secret, info: "", count: 42)
        #expect(
            Hex.encode(third)
                == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8")
    }
}
