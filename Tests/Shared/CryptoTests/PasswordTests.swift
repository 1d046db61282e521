// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import COpenSSL
import NacreCore
import Synchronization
import Testing

@testable import NacreCrypto

/// How many jobs run at once.
private final class Counts: Sendable {
    private let state = Mutex((now: 0, most: 0))
    var most: Int { state.withLock { $0.most } }
    func enter() {
        state.withLock {
            $0.now += 1
            $0.most = max($0.most, $0.now)
        }
    }
    func leave() { state.withLock { $0.now -= 1 } }
}

@Suite("Passwords and certificates")
struct PasswordTests {
    @Test("A password verifies against its own hash only, and hashes are salted")
    func verify() async throws {
        let hasher = PasswordHasher(cost: .test)
        let hash = try await hasher.hash("alice-password-1")
        #expect(hash.hasPrefix("$argon2id$"))
        #expect(try await hasher.isCorrect("alice-password-1", for: hash))
        #expect(try await !hasher.isCorrect("alice-password-2", for: hash))
        #expect(try await !hasher.isCorrect("", for: hash))
        #expect(try await hasher.hash("alice-password-1") != hash)
        #expect(try await !hasher.isCorrect("alice-password-1", for: "not a hash"))
        let empty = try await hasher.hash("")
        #expect(try await hasher.isCorrect("", for: empty))
    }

    @Test("A hash of another cost asks to be made again")
    func rehash() async throws {
        let cheap = PasswordHasher(cost: .test)
        let dear = PasswordHasher(cost: PasswordCost(passes: 2, memory: 16384))
        let hash = try await cheap.hash("x")
        #expect(!cheap.needsRehash(hash))
        #expect(dear.needsRehash(hash))
        #expect(try await dear.isCorrect("x", for: hash))
    }

    @Test("Overlong passwords are refused before any work")
    func overlong() async throws {
        let hasher = PasswordHasher(cost: .test)
        let long = String(repeating: "a", count: PasswordHasher.maximumLength + 1)
        await #expect(throws: NacreError.self) { try await hasher.hash(long) }
        #expect(try await !hasher.isCorrect(long, for: try await hasher.hash("a")))
        try await hasher.spendTime(on: long)
    }

    @Test("Work threads run at most so many jobs at once, all of them, and refuse an endless queue")
    func threads() async throws {
        let threads = WorkThreads(limit: 2, waiting: 64)
        let counts = Counts()
        let results = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<50 {
                group.addTask {
                    try await threads.run {
                        counts.enter()
                        defer { counts.leave() }
                        return number
                    }
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(results == 49 * 50 / 2)
        #expect(counts.most <= 2)
        let none = WorkThreads(limit: 1, waiting: 0)
        let error = await #expect(throws: NacreError.self) { try await none.run { 1 } }
        #expect(error?.code == "work.busy")
    }

    @Test("A certificate is PEM, fresh each time, and takes names and addresses only")
    func certificate() throws {
        let now = Instant(seconds: 1_790_000_000)
        let one = try SelfSignedCertificate(names: ["localhost", "api.example.test", "127.0.0.1"], now: now)
        let two = try SelfSignedCertificate(names: ["localhost"], now: now)
        #expect(one.certificatePEM.hasPrefix("-----BEGIN CERTIFICATE-----"))
        #expect(one.certificatePEM != two.certificatePEM)
        #expect(try PrivateKey(pem: one.privateKeyPEM).algorithm == .es256)
        let parsed = withTextBIO(one.certificatePEM) { PEM_read_bio_X509($0, nil, nil, nil) }
        defer { X509_free(parsed) }
        #expect(X509_check_host(parsed, "api.example.test", 0, 0, nil) == 1)
        #expect(X509_check_host(parsed, "other.example.test", 0, 0, nil) == 0)
        #expect(X509_check_ip_asc(parsed, "127.0.0.1", 0) == 1)
        #expect(X509_check_ca(parsed) == 0)
        #expect(X509_verify(parsed, X509_get0_pubkey(parsed)) == 1)
        var (days, seconds): (Int32, Int32) = (0, 0)
        ASN1_TIME_diff(&days, &seconds, X509_get0_notBefore(parsed), X509_get0_notAfter(parsed))
        #expect(days == 30 && seconds == 3600)
        for bad in [[], [""], ["a,DNS:b"], ["a b"], ["é"], [String(repeating: "a", count: 300)]] {
            #expect(throws: NacreError.self) { try SelfSignedCertificate(names: bad, now: now) }
        }
    }
}
