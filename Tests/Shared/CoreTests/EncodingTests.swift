// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import Testing

@Suite("Encodings")
struct EncodingTests {
    @Test("Base64url round-trips every length", arguments: 0..<40)
    func roundTrip(count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 11) }
        #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
        #expect(Base64.decode(Base64.encode(bytes)) == bytes)
        #expect(Hex.decode(Hex.encode(bytes)) == bytes)
    }

    @Test(
        "Base64url refuses padding, foreign letters, impossible lengths and stray bits",
        arguments: ["YQ==", "Y+", "Y/", "A", "YR", "Y Q", "YQ\n", "é"])
    func strict(text: String) { #expect(Base64URL.decode(text) == nil) }

    @Test("RFC 4648 examples", arguments: [("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")])
    func examples(plain: String, encoded: String) { #expect(Base64.encode(plain.utf8) == encoded) }

    @Test("Constant-time comparison tells equal from different")
    func compare() {
        #expect(constantTimeEqual([1, 2, 3], [1, 2, 3]))
        #expect(!constantTimeEqual([1, 2, 3], [1, 2, 4]))
        #expect(!constantTimeEqual([1, 2, 3], [1, 2]))
    }
}
