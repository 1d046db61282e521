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
            // The folder says that there is something in the keyring, and its note in which.
            try await disk.run { try PrivateFile.makeFolder(state) }
            let secrets = await secrets()
            guard await secrets.availability() != .absent else {
                throw NacreError("secrets.absent", "There is no keyring.")
            }
            let kind = secrets.kind
            try await disk.run { kind.keep(note: state + "/secrets-kind") }
            try await list.add(owed, to: secrets)
        } catch let error as NacreError where error.code == "secrets.locked" {
            throw error
        } catch {
            log.error("accounts.owed", ["reason": .string("\(error)")])
        }
    }

    /// Tells the servers, and returns how many sessions are left of which one could not be told. With a keyring that is
    /// locked or does not answer, nothing is left to do for now.
    func settle() async -> Int {
        let (state, folder) = (state, seat.folders.root + Self.place.path)
        do {
            guard try await disk.run({ FileManager.default.fileExists(atPath: state) }) else { return 0 }
            let usedBefore = try await disk.run { SecretStoreKind(note: state + "/secrets-kind") }
            let secrets = await secrets(usedBefore)
            _ = await secrets.availability()
            guard usedBefore == nil || secrets.kind == usedBefore else { return 0 }  // guard: owed-keyring
            let left = try await list.settle(in: secrets)
            if left == 0 { try await disk.run { try FileManager.default.removeItem(atPath: folder) } }
            log.info("accounts.owed", ["left": .integer(Int64(left))])
            return left
        } catch {
            log.notice("accounts.owed", ["reason": .string("\(error)")])
            return 0
        }
    }

    /// Not in memory: that would be gone with the process.
    private func secrets(_ usedBefore: SecretStoreKind? = nil) async -> SecretStoreChain {
        SecretStoreChain(await seat.secrets(Self.place, state), usedBefore: usedBefore, time: time, log: log)
    }
}
