// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreCrypto
package import NacrePorts

/// Keeps secrets in one file, sealed with a key made of the person's passphrase: where there is no keyring.
///
/// Absent when nobody can be asked for a passphrase; locked while the file's passphrase is not known.
package actor PassphraseFileStore: SecretStore {
    /// Asks for the passphrase, for a new file (`isNew`) or an old one; nil when the person declines.
    package typealias Ask = @Sendable (_ isNew: Bool) async -> String?
    /// Puts bytes in the place of a file, durably.
    package typealias Replace = @Sendable (_ path: String, _ bytes: [UInt8]) throws(NacreError) -> Void
    private static let largest = 4 * 1024 * 1024

    package nonisolated let kind = SecretStoreKind.passphrase
    private let path: String
    private let cost: PasswordCost
    private let random: any RandomSource
    private let ask: Ask?
    private let replace: Replace
    // Argon2id and the disk block: on a thread of its own.
    private nonisolated let thread = OwnThread()
    package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    private struct Opened {
        let key: SealingKey
        let salt: [UInt8]
        let cost: PasswordCost
        var secrets: [String: [UInt8]]
    }
    private var opened: Opened?

    /// - Parameters:
    ///   - path: the file; its folder must exist and be private.
    ///   - ask: nil when nobody can be asked, which makes this store absent.
    package init(
        path: String, cost: PasswordCost = .standard, random: any RandomSource, ask: Ask?,
        replace: @escaping Replace = { path, bytes throws(NacreError) in try PrivateFile.replace(path, bytes) }
    ) {
        self.replace = replace
        self.path = path
        self.cost = cost
        self.random = random
        self.ask = ask
    }

    deinit { thread.stop() }

    package func availability() -> SecretStoreAvailability {
        guard ask != nil else { return .absent }
        return opened == nil ? .locked : .available
    }

    package func read(_ name: String) throws(NacreError) -> [UInt8]? { try unlocked().secrets[name] }

    package func write(_ name: String, _ value: [UInt8]) throws(NacreError) {
        var next = try unlocked()
        next.secrets[name] = value
        try store(next)
    }

    package func remove(_ name: String) throws(NacreError) {
        var next = try unlocked()
        guard next.secrets.removeValue(forKey: name) != nil else { return }
        try store(next)
    }

    package func unlock() async -> Bool {
        if opened != nil { return true }
        guard let ask else { return false }
        // A file that is there but cannot be read must never be taken for none and written over.
        let found: [UInt8]?
        do throws(NacreError) {
            found = try PrivateFile.read(path, upTo: Self.largest)
        } catch {
            return false
        }
        let passphrase = await ask(found == nil)
        // Somebody else may have been asked meanwhile: a file made since then must not be made again, nor read as it was.
        if opened != nil { return true }  // guard: secrets-unlock-twice
        guard let passphrase else { return false }
        guard let bytes = found else { return passphrase.isEmpty ? false : create(passphrase) }
        guard let file = try? PassphraseFile(parsing: bytes),
            let key = try? PassphraseKey.derive(passphrase, salt: file.salt, cost: file.cost),
            let secrets = try? file.open(with: key)
        else { return false }
        opened = Opened(key: key, salt: file.salt, cost: file.cost, secrets: secrets)
        return true
    }

    private func create(_ passphrase: String) -> Bool {
        let salt = random.bytes(PassphraseKey.saltLength)
        guard let key = try? PassphraseKey.derive(passphrase, salt: salt, cost: cost) else { return false }
        do {
            try store(Opened(key: key, salt: salt, cost: cost, secrets: [:]))
            return true
        } catch {
            return false
        }
    }

    private func unlocked() throws(NacreError) -> Opened {
        guard ask != nil else {
            throw NacreError("secrets.absent", "There is nobody to ask for the passphrase.")
        }
        if let opened { return opened }
        // A damaged file is told apart from a locked one: no passphrase will ever open it.
        if let bytes = try PrivateFile.read(path, upTo: Self.largest) { _ = try PassphraseFile(parsing: bytes) }
        throw NacreError("secrets.locked", "The passphrase store is locked; enter its passphrase.")
    }

    /// Written first, believed after.
    private func store(_ next: Opened) throws(NacreError) {
        let bytes = try PassphraseFile.seal(
            next.secrets, key: next.key, salt: next.salt, cost: next.cost, random: random)
        do throws(NacreError) {
            try replace(path, bytes)
        } catch {
            throw NacreError(
                "secrets.write_failed", "Your sign-in could not be stored on this device. \(error.message)",
                cause: error)
        }
        opened = next
    }
}
