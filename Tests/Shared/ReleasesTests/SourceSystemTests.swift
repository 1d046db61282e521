// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreCrypto
import Testing

@testable import NacreReleases

/// One key for the suite: making an RSA key takes a while.
private let key = try! PrivateKey.generateRSA2048()

@Suite("The source system's format (UP-5)")
struct SourceSystemTests {
    private func made(_ plain: [UInt8]) throws -> (SourceSystemSeal, [UInt8]) {
        let (seal, contents) = try SourceSystemSeal.make(for: TreeDigest(of: plain), with: key, random: SystemRandom())
        var sealed: [UInt8] = []
        try contents.seal(MemoryBytes(plain)) { (piece: [UInt8]) throws(NacreError) in sealed += piece }
        return (seal, sealed)
    }

    private func open(_ seal: SourceSystemSeal, _ sealed: [UInt8]) throws -> [UInt8] {
        var plain: [UInt8] = []
        try seal.open(with: key.publicKey).open(MemoryBytes(sealed)) { (piece: [UInt8]) throws(NacreError) in
            plain += piece
        }
        return plain
    }

    @Test("UP-5: lengths are the source system's", arguments: [0, 1, 15, 16, 17, 1_000_000])
    func lengths(count: Int) throws {
        let plain = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let (seal, sealed) = try made(plain)
        #expect(seal.sessionKey.utf8.count == 369)
        #expect(seal.sessionKey.utf8.filter { $0 == UInt8(ascii: ":") }.count == 1)
        #expect(seal.checksum.utf8.count == 512)
        #expect(seal.checksum == seal.checksum.lowercased())
        #expect(sealed.count == (count / 16 + 1) * 16)
        #expect(try open(seal, sealed) == plain)
    }

    @Test("UP-9: the keys are PKCS #1, 360 characters of base64 for the public one")
    func keys() throws {
        let pem = try #require(key.publicKey.pkcs1PEM)
        #expect(pem.hasPrefix("-----BEGIN RSA PUBLIC KEY-----\n"))
        #expect(pem.split(separator: "\n").dropFirst().dropLast().joined().utf8.count == 360)
        #expect(try PublicKey(pkcs1PEM: pem).components == key.publicKey.components)
        let secret = try #require(key.pkcs1PEM)
        #expect(secret.hasPrefix("-----BEGIN RSA PRIVATE KEY-----\n"))
        #expect(try PrivateKey(pem: secret).publicKey.components == key.publicKey.components)
        #expect(SourceSystemSeal.keyName(key.publicKey)?.hasPrefix("MIIBCgKCAQEA") == true)
        #expect(throws: NacreError.self) { try PublicKey(pkcs1PEM: key.publicKey.pem) }
    }

    @Test("UP-5: a bundle made with openssl's commands is accepted, and ours is opened by them")
    func openssl() throws {
        let folder = try TemporaryFolder()
        let plain = bytes("an archive, as far as the cipher knows")
        try folder.write("plain", plain)
        try folder.write("private.pem", bytes(try #require(key.pkcs1PEM)))
        try folder.write("public.pem", bytes(try #require(key.publicKey.pkcs1PEM)))
        // Theirs.
        let session = [UInt8](0..<16)
        let vector = [UInt8](16..<32)
        try folder.write("session", session)
        try folder.write("digest", SHA256.hash(plain))
        let (sessionHex, vectorHex) = (Hex.encode(session), Hex.encode(vector))
        let sealed = try run(
            "openssl", ["enc", "-aes-128-cbc", "-K", sessionHex, "-iv", vectorHex, "-in", "plain"], in: folder.path)
        let sign = ["pkeyutl", "-sign", "-inkey", "private.pem", "-pkeyopt", "rsa_padding_mode:pkcs1", "-in"]
        let keyBlock = try run("openssl", sign + ["session"], in: folder.path)
        let digestBlock = try run("openssl", sign + ["digest"], in: folder.path)
        let theirs = SourceSystemSeal(
            sessionKey: Base64.encode(vector) + ":" + Base64.encode(keyBlock), checksum: Hex.encode(digestBlock))
        #expect(try open(theirs, sealed) == plain)
        // Ours.
        let (seal, own) = try made(plain)
        try folder.write("own", own)
        try folder.write("block", try #require(Base64.decode(seal.sessionKey.split(separator: ":")[1])))
        try folder.write("checksum", try #require(Hex.decode(seal.checksum)))
        let recover = [
            "pkeyutl", "-verifyrecover", "-pubin", "-inkey", "public.pem", "-pkeyopt", "rsa_padding_mode:pkcs1", "-in",
        ]
        try folder.write("public.pem", bytes(key.publicKey.pem))
        let recovered = try run("openssl", recover + ["block"], in: folder.path)
        #expect(try run("openssl", recover + ["checksum"], in: folder.path) == SHA256.hash(plain))
        let ownVector = Hex.encode(try #require(Base64.decode(seal.sessionKey.split(separator: ":")[0])))
        #expect(
            try run(
                "openssl", ["enc", "-d", "-aes-128-cbc", "-K", Hex.encode(recovered), "-iv", ownVector, "-in", "own"],
                in: folder.path) == plain)
    }

    @Test(
        "UP-5: a seal that lacks something, or was made otherwise, is refused",
        arguments: [
            { (seal: SourceSystemSeal) in SourceSystemSeal(sessionKey: "", checksum: seal.checksum) },
            { SourceSystemSeal(sessionKey: $0.sessionKey, checksum: "") },
            { SourceSystemSeal(sessionKey: $0.sessionKey + ":", checksum: $0.checksum) },
            { SourceSystemSeal(sessionKey: $0.sessionKey.replacing(":", with: ""), checksum: $0.checksum) },
            { SourceSystemSeal(sessionKey: " " + $0.sessionKey, checksum: $0.checksum) },
            { SourceSystemSeal(sessionKey: $0.sessionKey, checksum: String($0.checksum.dropLast(2))) },
            { SourceSystemSeal(sessionKey: $0.sessionKey, checksum: "00" + $0.checksum) },
            { SourceSystemSeal(sessionKey: $0.sessionKey, checksum: String($0.checksum.reversed())) },
            { SourceSystemSeal(sessionKey: $0.sessionKey, checksum: String(repeating: "0", count: 512)) },
            // The key's block in the digest's place: 16 bytes are no digest.
            {
                SourceSystemSeal(
                    sessionKey: $0.sessionKey,
                    checksum: Hex.encode(Base64.decode($0.sessionKey.split(separator: ":")[1]) ?? []))
            },
            // A plain SHA-256, as an unsigned manifest has it.
            { SourceSystemSeal(sessionKey: $0.sessionKey, checksum: TreeDigest(of: bytes("x")).description) },
        ] as [@Sendable (SourceSystemSeal) -> SourceSystemSeal])
    func refused(change: @Sendable (SourceSystemSeal) -> SourceSystemSeal) throws {
        let (seal, _) = try made(bytes("x"))
        #expect(throws: NacreError.self) { try change(seal).open(with: key.publicKey) }
    }

    @Test("UP-5: a sessionKey by another key is refused, though it proves nothing")
    func otherKey() throws {
        let (seal, _) = try made(bytes("x"))
        let other = try SourceSystemSeal.make(
            for: TreeDigest(of: bytes("x")), with: try PrivateKey.generateRSA2048(), random: SystemRandom())
        let mixed = SourceSystemSeal(sessionKey: other.seal.sessionKey, checksum: seal.checksum)
        #expect(throws: NacreError.self) { try mixed.open(with: key.publicKey) }
    }

    @Test("UP-5: a checksum field of another length is damage, and said so", arguments: ["", "ab", "zz", "YWJj"])
    func checksumLength(text: String) throws {
        let (seal, _) = try made(bytes("x"))
        let error = #expect(throws: NacreError.self) {
            try SourceSystemSeal(sessionKey: seal.sessionKey, checksum: text).open(with: key.publicKey)
        }
        #expect(error?.message.contains("missing or damaged") == true)
    }

    @Test("UP-5: what was changed, cut, lengthened or signed by another is not opened")
    func damaged() throws {
        let plain = [UInt8](repeating: 7, count: 100)
        let (seal, sealed) = try made(plain)
        for at in stride(from: 0, to: sealed.count, by: 7) {
            var changed = sealed
            changed[at] ^= 1
            #expect(throws: NacreError.self) { try open(seal, changed) }
        }
        for cut in [[], Array(sealed.dropLast()), Array(sealed.dropLast(16)), sealed + [0], sealed + sealed.suffix(16)]
        {
            #expect(throws: NacreError.self) { try open(seal, cut) }
        }
        let other = try PrivateKey.generateRSA2048().publicKey
        #expect(throws: NacreError.self) { try seal.open(with: other) }
        #expect(throws: NacreError.self) { try seal.open(with: try PrivateKey.generate(.rs256).publicKey) }
    }

    @Test("UP-5: padding is read strictly: nothing but FF, eight at least, one 00")
    func padding() throws {
        // By raw exponentiation: blocks that a lenient reader takes.
        let size = 256
        func block(_ head: [UInt8], _ fill: [UInt8], _ payload: [UInt8]) -> [UInt8] { head + fill + payload }
        let payload = [UInt8](0..<32)
        let fill = [UInt8](repeating: 0xFF, count: size - 3 - payload.count)
        let good = block([0, 1], fill + [0], payload)
        #expect(try recover(good) == payload)
        var hole = good
        hole[100] = 0xFE
        #expect(try recover(hole) == nil)
        #expect(try recover(block([0, 2], fill + [0], payload)) == nil)
        #expect(try recover([UInt8](repeating: 0xFF, count: 8).prefixed([0, 1], [0], to: size)) != nil)
        #expect(try recover([UInt8](repeating: 0xFF, count: 7).prefixed([0, 1], [0], to: size)) == nil)
        #expect(try recover(block([0, 1], fill + [0xFF], payload.map { _ in 0xFF })) == nil)
    }

    /// What the public key reads in a block that was raised to the private exponent as it stands.
    private func recover(_ block: [UInt8]) throws -> [UInt8]? {
        let folder = try TemporaryFolder()
        try folder.write("private.pem", bytes(try #require(key.pkcs1PEM)))
        try folder.write("block", block)
        let raised = try run(
            "openssl",
            ["pkeyutl", "-decrypt", "-inkey", "private.pem", "-pkeyopt", "rsa_padding_mode:none", "-in", "block"],
            in: folder.path)
        return key.publicKey.payload(ofBlock: raised)
    }
}

extension [UInt8] {
    /// `head`, these bytes, `separator`, and zeros up to a length.
    fileprivate func prefixed(_ head: [UInt8], _ separator: [UInt8], to size: Int) -> [UInt8] {
        let start = head + self + separator
        return start + [UInt8](repeating: 5, count: size - start.count)
    }
}
