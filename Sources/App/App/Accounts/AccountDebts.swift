// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacrePorts
import NacreSecrets
import NacreSignIn

/// What is owed to the servers of accounts that are gone: the end of sessions that they could not be told of (SE-5). It rests
/// in the keyring under a name of its own, whichever account is shown, and is told at any later start.
struct AccountDebts: Sendable {
    /// No account's id, and no account's folder.
    private static let place = AppPlace(account: "owed")

    private let seat: AccountSeat
    private let list: OwedRevocations
    private let time: any TimeSource
    private let log: Log
    private let disk = WorkThreads(limit: 1)

    init(seat: AccountSeat, list: OwedRevocations, time: any TimeSource, log: Log) {
        self.seat = seat
        self.list = list
        self.time = time
        self.log = log
    }

    private var state: String { seat.folders.state(Self.place) }

    /// Writes down what a server has not heard of.
    ///
    /// - Throws: `secrets.locked`. A device that can keep nothing is no reason to keep the account.
    func note(_ owed: [OwedRevocation]) async throws(NacreError) {
        let state = state
        do {
            // The folder says that there is something in a keyring, and its note in which.
            try await disk.run { try PrivateFile.makeFolder(state) }
            // Not in memory: that would be gone with the process.
            let secrets = SecretStoreChain(await seat.secrets(Self.place, state), time: time, log: log)
            guard await secrets.availability() != .absent else {
                throw NacreError("secrets.absent", "There is no keyring.")
            }
            let kind = secrets.kind
            try await disk.run {
                // What was noted in another keyring stays noted there.
                let kinds = Self.kinds(state).filter { $0 != kind } + [kind]  // guard: owed-every-keyring
                Self.keep(kinds, state)
            }
            try await list.add(owed, to: secrets)
        } catch let error as NacreError where error.code == "secrets.locked" {
            throw error
        } catch {
            log.error("accounts.owed", ["reason": .string("\(error)")])
        }
    }

    /// Tells the servers, and returns how many sessions are left of which one could not be told. In a keyring that is
    /// locked or does not answer, nothing is left to do for now.
    func settle() async -> Int {
        let (state, folder) = (state, seat.folders.root + Self.place.path)
        do {
            guard try await disk.run({ FileManager.default.fileExists(atPath: state) }) else { return 0 }
            let noted = try await disk.run { Self.kinds(state) }
            var waiting = noted
            var left: [Int] = []
            for store in await seat.secrets(Self.place, state) where noted.isEmpty || noted.contains(store.kind) {
                guard let count = await settle(in: store) else {
                    if noted.isEmpty { return 0 }
                    continue
                }
                left.append(count)
                if count == 0 { waiting.removeAll { $0 == store.kind } }
            }
            let sum = left.reduce(0, +)
            let isOver = sum == 0 && waiting.isEmpty && !left.isEmpty  // guard: owed-keyring
            try await disk.run { [waiting] in
                if isOver {
                    try FileManager.default.removeItem(atPath: folder)
                } else if waiting != noted {
                    Self.keep(waiting, state)
                }
            }
            log.info("accounts.owed", ["left": .integer(Int64(sum))])
            return sum
        } catch {
            log.notice("accounts.owed", ["reason": .string("\(error)")])
            return 0
        }
    }

    /// How many are left in this keyring; nil where it lets nothing be read.
    private func settle(in store: any SecretStore) async -> Int? {
        // At login an app may start before the keyring: it is given a few seconds.
        let secrets = SecretStoreChain([store], usedBefore: store.kind, time: time, log: log)
        guard await secrets.availability() == .available else { return nil }
        do throws(NacreError) {
            return try await list.settle(in: secrets)
        } catch {
            log.notice("accounts.owed", ["reason": .string("\(error)")])
            return nil
        }
    }

    /// The keyrings in which something is noted, one a line; blocks.
    private static func kinds(_ state: String) -> [SecretStoreKind] {
        let bytes = (try? PrivateFile.read(file(state), upTo: 256)) ?? nil
        return String(decoding: bytes ?? [], as: UTF8.self).split(separator: "\n")
            .compactMap { SecretStoreKind(rawValue: String($0)) }
    }

    /// Where the note cannot be kept, the keyrings that are noted already, or all of them, are looked at.
    private static func keep(_ kinds: [SecretStoreKind], _ state: String) {
        let text = kinds.filter { $0 != .memory }.map(\.rawValue).joined(separator: "\n")
        try? PrivateFile.replace(file(state), Array(text.utf8))
    }

    private static func file(_ state: String) -> String { state + "/secrets-kind" }
}
