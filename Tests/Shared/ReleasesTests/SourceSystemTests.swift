// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreCrypto
import NacreTesting
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

    /// A publisher that has openssl and a shell, and nothing of ours.
    private struct OpenSSL {
        let folder: TemporaryFolder
        let padding = ["-pkeyopt", "rsa_padding_mode:pkcs1"]

        init() throws {
            folder = try TemporaryFolder()
            try run("openssl", ["genrsa", "-traditional", "-out", "private.pem", "2048"], in: folder.path)
            try run(
                "openssl", ["rsa", "-in", "private.pem", "-RSAPublicKey_out", "-out", "public.pem"], in: folder.path)
            try run("openssl", ["rsa", "-in", "private.pem", "-pubout", "-out", "spki.pem"], in: folder.path)
        }

        func text(_ name: String) throws -> String { String(decoding: try #require(folder.read(name)), as: UTF8.self) }

        /// The private half over bytes as they are, without the name of a digest before them.
        func sign(_ bytes: [UInt8], _ options: [String] = []) throws -> [UInt8] {
            try folder.write("in", bytes)
            return try run(
                "openssl", ["pkeyutl", "-sign", "-inkey", "private.pem", "-in", "in"] + padding + options,
                in: folder.path)
        }

        func recover(_ block: [UInt8], _ options: [String]? = nil) throws -> [UInt8] {
            try folder.write("in", block)
            let command = ["pkeyutl", "-verifyrecover", "-pubin", "-inkey", "spki.pem", "-in", "in"]
            return try run("openssl", command + (options ?? padding), in: folder.path)
        }

        func cipher(_ bytes: [UInt8], _ key: [UInt8], _ vector: [UInt8], _ options: [String] = []) throws -> [UInt8] {
            try folder.write("in", bytes)
            let command = ["enc", "-aes-128-cbc", "-K", Hex.encode(key), "-iv", Hex.encode(vector), "-in", "in"]
            return try run("openssl", command + options, in: folder.path)
        }

        func digest(_ bytes: [UInt8]) throws -> [UInt8] {
            try folder.write("in", bytes)
            return try run("openssl", ["dgst", "-sha256", "-binary", "in"], in: folder.path)
        }
    }

    @Test("UP-9: keys by openssl are ours, and ours are openssl's")
    func opensslKeys() throws {
        let openssl = try OpenSSL()
        let (secret, pem) = (try openssl.text("private.pem"), try openssl.text("public.pem"))
        let key = try PrivateKey(pem: secret)
        #expect(try PublicKey(pkcs1PEM: pem).components == key.publicKey.components)
        #expect(key.pkcs1PEM == secret && key.publicKey.pkcs1PEM == pem)
        let body = pem.split(separator: "\n").dropFirst().dropLast().joined()
        #expect(body.utf8.count == 360 && Base64.decode(body)?.count == 270)
        #expect(SourceSystemSeal.keyName(key.publicKey) == String(body.prefix(20)))
        let text = try run(
            "openssl", ["rsa", "-RSAPublicKey_in", "-in", "public.pem", "-text", "-noout"], in: openssl.folder.path)
        #expect(String(decoding: text, as: UTF8.self).contains("Exponent: 65537 (0x10001)"))
    }

    @Test("UP-5: a real archive, sealed with openssl's commands alone, is opened and unpacked")
    func opensslArchive() throws {
        let openssl = try OpenSSL()
        try run(
            "python3",
            [
                "-c",
                "import zipfile; z = zipfile.ZipFile('a.zip', 'w', 8); z.writestr('index.html', 'hi' * 9); z.close()",
            ],
            in: openssl.folder.path)
        let zip = try #require(openssl.folder.read("a.zip"))
        let (session, vector) = ([UInt8](0..<16), [UInt8](16..<32))
        let seal = SourceSystemSeal(
            sessionKey: Base64.encode(vector) + ":" + Base64.encode(try openssl.sign(session)),
            checksum: Hex.encode(try openssl.sign(openssl.digest(zip))))
        var plain: [UInt8] = []
        try seal.open(with: PublicKey(pkcs1PEM: openssl.text("public.pem"))).open(
            MemoryBytes(openssl.cipher(zip, session, vector))
        ) { (piece: [UInt8]) throws(NacreError) in plain += piece }
        #expect(plain == zip)
        #expect(try ArchiveReader(MemoryBytes(plain)).entries.map(\.path.text) == ["index.html"])
    }

    @Test(
        "UP-5: a bundle made with openssl's commands is accepted, and ours is opened by them, at every length",
        arguments: [0, 1, 15, 16, 17, 31, 32, 255, 256, 300_000])
    func openssl(count: Int) throws {
        let openssl = try OpenSSL()
        let key = try PrivateKey(pem: openssl.text("private.pem"))
        let plain = (0..<count).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 11) }
        // Theirs.
        let (session, vector) = (SystemRandom().bytes(16), SystemRandom().bytes(16))
        let (keyBlock, digestBlock) = (try openssl.sign(session), try openssl.sign(openssl.digest(plain)))
        let theirs = SourceSystemSeal(
            sessionKey: Base64.encode(vector) + ":" + Base64.encode(keyBlock), checksum: Hex.encode(digestBlock))
        let sealed = try openssl.cipher(plain, session, vector)
        var opened: [UInt8] = []
        let contents = try theirs.open(with: key.publicKey)
        try contents.open(MemoryBytes(sealed)) { (piece: [UInt8]) throws(NacreError) in opened += piece }
        #expect(opened == plain)
        // The same numbers give the same bytes on both sides: the block has no chance in it.
        #expect(try key.rsaBlock(of: session) == keyBlock && key.rsaBlock(of: SHA256.hash(plain)) == digestBlock)
        var same: [UInt8] = []
        try contents.seal(MemoryBytes(plain)) { (piece: [UInt8]) throws(NacreError) in same += piece }
        #expect(same == sealed && sealed.count == (count / 16 + 1) * 16)
        // Ours.
        let (seal, own) = try SourceSystemSeal.make(for: TreeDigest(of: plain), with: key, random: SystemRandom())
        var ours: [UInt8] = []
        try own.seal(MemoryBytes(plain)) { (piece: [UInt8]) throws(NacreError) in ours += piece }
        let parts = seal.sessionKey.split(separator: ":", omittingEmptySubsequences: false)
        #expect(seal.sessionKey.utf8.count == 369 && parts.count == 2 && parts[0].utf8.count == 24)
        let recovered = try openssl.recover(try #require(Base64.decode(parts[1])))
        #expect(recovered.count == 16)
        #expect(seal.checksum.utf8.count == 512 && seal.checksum == seal.checksum.lowercased())
        let checksum = try #require(Hex.decode(seal.checksum))
        #expect(try openssl.recover(checksum) == openssl.digest(plain))
        #expect(try openssl.cipher(ours, recovered, try #require(Base64.decode(parts[0])), ["-d"]) == plain)
        // 00 01 FF … FF 00 and the digest, as it stands.
        let raw = try openssl.recover(checksum, ["-pkeyopt", "rsa_padding_mode:none"])
        #expect(raw == [0, 1] + [UInt8](repeating: 0xFF, count: 221) + [0] + SHA256.hash(plain))
    }

    @Test("UP-5: the forms of older publishers are refused, each with its reason")
    func legacy() throws {
        let openssl = try OpenSSL()
        let plain = bytes("an archive")
        let digest = try openssl.digest(plain)
        let session = Base64.encode([UInt8](16..<32)) + ":" + Base64.encode(try openssl.sign([UInt8](0..<16)))
        let good = Hex.encode(try openssl.sign(digest))
        let decoded = try #require(Base64.decode(Hex.encode(digest)))
        #expect(decoded.count == 48)
        let legacy = Base64.encode(try openssl.sign(decoded))
        #expect(legacy.utf8.count == 344)
        let key = try PublicKey(pkcs1PEM: openssl.text("public.pem"))
        for (what, checksum, reason) in [
            ("nothing", "", "is missing"), ("a CRC-32", "0badcafe", "is a CRC-32"),
            ("a plain SHA-256", Hex.encode(digest), "is not signed"),
            ("hexadecimal read as base64", legacy, "is of an older form"),
            ("the digest in base64", Base64.encode(try openssl.sign(digest)), "is of an older form"),
            ("upper case", good.uppercased(), "is not in lower case"),
            (
                "the older form in hexadecimal", Hex.encode(try openssl.sign(decoded)),
                "was not made with this app's key"
            ),
            (
                "the name of the digest before it",
                Hex.encode(try openssl.sign(digest, ["-pkeyopt", "digest:sha256"])),
                "was not made with this app's key"
            ), ("neither", String(good.dropLast()) + "g", "is damaged"),
        ] {
            let error = #expect(throws: NacreError.self, "\(what)") {
                try SourceSystemSeal(sessionKey: session, checksum: checksum).open(with: key)
            }
            #expect(
                error?.code == "release.checksum" && error?.message.contains(reason) == true, "\(what): \(error as Any)"
            )
        }
        for (what, text) in [
            ("nothing", ""), ("no colon", session.replacing(":", with: "")), ("two colons", session + ":"),
            ("no vector", String(session.drop { $0 != ":" })), ("no key", String(session.prefix { $0 != ":" }) + ":"),
            ("a key of 32 bytes", session.prefix(25) + Base64.encode(try openssl.sign(digest))),
        ] {
            let error = #expect(throws: NacreError.self, "\(what)") {
                try SourceSystemSeal(sessionKey: text, checksum: good).open(with: key)
            }
            #expect(error?.code == "release.session_key", "\(what)")
        }
        #expect(throws: Never.self) { try SourceSystemSeal(sessionKey: session, checksum: good).open(with: key) }
    }

    @Test("UP-5: a sealed bundle cut at each 64 kB, or longer than it was, is not opened")
    func cut() throws {
        let plain = [UInt8](repeating: 7, count: 1_000_000)
        let (seal, sealed) = try made(plain)
        for count in stride(from: 0, to: sealed.count, by: 64 * 1024) {
            #expect(throws: NacreError.self) { try open(seal, Array(sealed[..<count])) }
        }
        for more in [16, 64 * 1024] {
            #expect(throws: NacreError.self) { try open(seal, sealed + [UInt8](repeating: 0, count: more)) }
        }
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
