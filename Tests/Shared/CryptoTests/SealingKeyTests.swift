// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import Testing

/// Gives exactly these bytes, to seal with a published nonce.
private struct GivenBytes: RandomSource {
    let given: [UInt8]
    func bytes(_ count: Int) -> [UInt8] { Array(given.prefix(count)) }
}

@Suite("Sealed boxes")
struct SealingKeyTests {
    @Test("AES-256-GCM (test cases 14 and 16 of the GCM paper) inside the box format")
    func vectors() throws {
        let zero = try SealingKey([UInt8](repeating: 0, count: 32))
        let box = try zero.seal(
            [UInt8](repeating: 0, count: 16), context: [], random: GivenBytes(given: [UInt8](repeating: 0, count: 12)))
        #expect(
            Hex.encode(box)
                == "01" + "000000000000000000000000" + "cea7403d4d606b6e074ec5d3baf39d18"
                + "d0d1c8a799996bf0265b98b5d48ab919")
        let half = "feffe9928665731c6d6a8f9467308308"
        let key = try SealingKey(try #require(Hex.decode(half + half)))
        let nonce = try #require(Hex.decode("cafebabefacedbaddecaf888"))
        let text = try #require(
            Hex.decode(
                "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
                    + "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"))
        let context = try #require(Hex.decode("feedfacedeadbeeffeedfacedeadbeefabaddad2"))
        let sealed = try key.seal(text, context: context, random: GivenBytes(given: nonce))
        #expect(
            Hex.encode(sealed)
                == "01cafebabefacedbaddecaf888"
                + "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
                + "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662" + "76fc6ece0f4e1768cddf8853bb2d551b")
        #expect(try key.open(sealed, context: context) == text)
    }

    @Test("Every altered byte, another context and another key are refused; so is every cut")
    func tampering() throws {
        let key = SealingKey(random: SystemRandom())
        let box = try key.seal(Array("mail body".utf8), context: Array("account 1".utf8))
        #expect(box.count == "mail body".utf8.count + SealingKey.overhead)
        #expect(try key.open(box, context: Array("account 1".utf8)) == Array("mail body".utf8))
        for index in box.indices {
            var altered = box
            altered[index] ^= 1
            let error = #expect(throws: NacreError.self) { try key.open(altered, context: Array("account 1".utf8)) }
            #expect(error?.code == "crypto.open")
        }
        for length in 0..<box.count {
            #expect(throws: NacreError.self) { try key.open(box.prefix(length), context: Array("account 1".utf8)) }
        }
        #expect(throws: NacreError.self) { try key.open(box, context: Array("account 2".utf8)) }
        #expect(throws: NacreError.self) {
            try SealingKey(random: SystemRandom()).open(box, context: Array("account 1".utf8))
        }
    }

    @Test("Nothing at all can be sealed, and two boxes of one value differ")
    func emptyAndFresh() throws {
        let key = SealingKey(random: SystemRandom())
        let box = try key.seal([], context: [])
        #expect(try key.open(box, context: []).isEmpty)
        #expect(try key.seal([], context: []) != box)
        #expect(throws: NacreError.self) { try SealingKey([1, 2, 3]) }
    }
}
