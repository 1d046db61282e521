// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacrePorts
import NacreSQLite
import NacreSecrets
import NacreSignIn

/// Does away with an account that is noted for it. Each step may be repeated, so that a kill between any two loses nothing.
struct AccountRemoval: Sendable {
    let id: String
    let seat: AccountSeat
    let isDevelopment: Bool
    let transport: any HTTPTransport
    let time: any TimeSource
    let random: any RandomSource
    let log: Log
    /// What servers have not heard of.
    let debts: AccountDebts
    private let disk = WorkThreads(limit: 1)

    init(
        id: String, seat: AccountSeat, isDevelopment: Bool, transport: any HTTPTransport, time: any TimeSource,
        random: any RandomSource, log: Log
    ) {
        self.id = id
        self.seat = seat
        self.isDevelopment = isDevelopment
        self.transport = transport
        self.time = time
        self.random = random
        self.log = log
        debts = AccountDebts(seat: seat, list: OwedRevocations(transport: transport, time: time), time: time, log: log)
    }

    /// Ends the account's sessions, then takes its secrets and its folders away. True when nothing is left.
    func run(_ note: AccountRemovalNote) async -> Bool {
        do {
            for place in seat.folders.places(of: note.id, servers: note.servers) { try await end(place) }
            try await wipe(note.id)
            log.info("accounts.removed")
            return true
        } catch let error as NacreError where error.code == "secrets.locked" {
            // The data goes at once; the secrets go when the keyring is unlocked, and so does what ends the sessions.
            try? await wipe(note.id, sparing: seat.folders.needed(toEnd: note.id, servers: note.servers))
            log.notice("accounts.removing", ["reason": "the keyring is locked"])
        } catch {
            log.error("accounts.removing", ["reason": .string("\(error)")])
        }
        return false
    }

    private func end(_ place: AppPlace) async throws {
        let folders = seat.folders
        let state = folders.state(place)
        let (file, usedBefore, home) = try await disk.run { [isDevelopment] in
            (
                folders.attemptFile(place), SecretStoreKind(note: state + "/secrets-kind"),
                HomeServer.read(
                    folder: folders.root + AppPlace.path(ofAccount: place.account), isDevelopment: isDevelopment)
            )
        }
        let secrets = await secrets(place, state, usedBefore)
        _ = await secrets.availability()
        guard usedBefore == nil || secrets.kind == usedBefore else {  // guard: account-keyring
            throw NacreError("secrets.absent", "The keyring of this account does not answer; it is tried again later.")
        }
        var server = home
        if case .chosen(let origin) = place.server { server = origin }
        var attempts: SQLiteAttemptStore?
        if let file { attempts = try? await SQLiteAttemptStore(SQLiteStore(path: file), now: time.now) }
        try await ForsakenSession(
            secrets: secrets, attempts: attempts, server: server, transport: transport, time: time, random: random
        ).end(owe: debts.note)
    }

    /// The keyring of a place that is not shown.
    func secrets(_ place: AppPlace, _ state: String, _ usedBefore: SecretStoreKind? = nil) async -> SecretStoreChain {
        SecretStoreChain(
            await seat.secrets(place, state) + [MemoryStore()], usedBefore: usedBefore, time: time, log: log)
    }

    /// The processes of the web view that was shown last may still write when they end: looked at twice.
    private func wipe(_ account: String, sparing spared: Set<String> = []) async throws {
        let folders = seat.folders
        try await disk.run { try folders.wipe(account, sparing: spared) }
        try await time.sleep(for: .seconds(1))
        try await disk.run { if folders.isThere(account) { try folders.wipe(account, sparing: spared) } }
    }
}
