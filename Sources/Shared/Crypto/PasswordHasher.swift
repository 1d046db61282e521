// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CSodium
import NacreCore

/// What one password hash costs; hashes remember the cost they were made with.
public struct PasswordCost: Hashable, Sendable {
    /// Passes over the memory.
    public let passes: Int
    /// Memory in bytes.
    public let memory: Int

    /// A cost of so many passes over so many bytes.
    public init(passes: Int, memory: Int) {
        self.passes = passes
        self.memory = memory
    }

    /// Two passes over 19 MiB: the floor of the OWASP password storage recommendation, about 20 ms.
    public static let standard = PasswordCost(passes: 2, memory: 19 * 1024 * 1024)
    /// The least libsodium takes: for tests and for nothing else.
    public static let test = PasswordCost(passes: 1, memory: 8192)
}

/// Hashes passwords with Argon2id (RFC 9106) on threads of its own.
public struct PasswordHasher: Sendable {
    /// Longer passwords are refused, so that nobody makes us hash megabytes.
    public static let maximumLength = 1024

    /// The cost of new hashes.
    public let cost: PasswordCost
    private let threads: WorkThreads

    /// A hasher with at most `threads` hashes at a time.
    public init(cost: PasswordCost = .standard, threads: Int = 1) {
        self.cost = cost
        self.threads = WorkThreads(limit: threads)
        // Idempotent and thread-safe; returns 1 when it was done before.
        precondition(sodium_init() >= 0, "libsodium cannot start: the system has no randomness")
    }

    /// A hash text of `password`, with its salt and cost inside.
    ///
    /// - Throws: `password.too_long`, `password.hash` when memory is gone, `work.busy`.
    public func hash(_ password: String) async throws -> String {
        guard password.utf8.count <= Self.maximumLength else {  // guard: password-length
            throw NacreError("password.too_long", "A password has at most \(Self.maximumLength) bytes.")
        }
        let (cost, text) = (cost, password.utf8CString)
        return try await threads.run {
            var out = [CChar](repeating: 0, count: Int(crypto_pwhash_STRBYTES))
            let result = text.withUnsafeBufferPointer { buffer in
                // The terminating zero is there so that the pointer is never null; it is not hashed.
                crypto_pwhash_str_alg(
                    &out, buffer.baseAddress!, UInt64(text.count - 1), UInt64(cost.passes), cost.memory,
                    crypto_pwhash_ALG_ARGON2ID13)
            }
            guard result == 0 else {
                throw NacreError("password.hash", "There is not enough memory to hash a password; try again.")
            }
            return String(decoding: out.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }

    /// Whether `hash` is one of `password`. A text that is no hash, or a password that is too long, is just wrong.
    ///
    /// - Throws: `work.busy`.
    public func isCorrect(_ password: String, for hash: String) async throws -> Bool {
        guard password.utf8.count <= Self.maximumLength else { return false }
        let text = password.utf8CString
        return try await threads.run {
            text.withUnsafeBufferPointer { buffer in
                crypto_pwhash_str_verify(hash, buffer.baseAddress!, UInt64(text.count - 1)) == 0
            }
        }
    }

    /// Spends the time of one check, so that an unknown account answers as slowly as a wrong password.
    public func spendTime(on password: String) async throws {
        _ = try await hash(String(decoding: password.utf8.prefix(Self.maximumLength), as: UTF8.self))
    }

    /// Whether `hash` was made with another cost than today's; hash the password again when it was just verified.
    public func needsRehash(_ hash: String) -> Bool {
        crypto_pwhash_str_needs_rehash(hash, UInt64(cost.passes), cost.memory) != 0
    }
}
