// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacrePorts

/// The attempts of an account that is not the one the app shows: a person may begin a sign-in, go over to another account,
/// and only then finish in the browser. Whatever account is there, the link is written down where it belongs (HO-8).
package struct RestingAttempts: Sendable {
    /// What has become of a link.
    package enum Taken: Sendable, Equatable {
        /// The account's next start finishes the sign-in; it should come soon, for a one-time token lives for a minute.
        case toBeFinished
        /// The attempt is over; its account need not be opened for that.
        case over
        /// The account's page, which runs the hand-off by itself, is to get the link.
        case forPage
    }

    private let store: any AttemptStore
    private let secrets: any SecretStore
    private let scheme: String
    private let time: any TimeSource
    private let random: any RandomSource

    package init(
        store: any AttemptStore, secrets: any SecretStore, scheme: String, time: any TimeSource,
        random: any RandomSource
    ) {
        self.store = store
        self.secrets = secrets
        self.scheme = scheme
        self.time = time
        self.random = random
    }

    /// Takes the link if it belongs to one of these attempts, and nil if it does not.
    ///
    /// Only the `flow` that the attempt has sent tells that: a link without one, which anybody may open, brings nobody from
    /// one account to another.
    ///
    /// - Throws: `secrets.*`, `sqlite.*`; the link belongs here then, and could not be written down.
    package func take(_ link: DeepLink) async throws -> Taken? {
        guard link.scheme == scheme else { return nil }
        for row in try await store.attempts() {
            guard time.now - row.startedAt < SignInFlow.patience else { continue }  // guard: resting-age
            guard let event = SignInFlow.event(of: link, flow: row.flow), event.belongs,  // guard: resting-flow
                let step = AttemptMachine.step(row.phase, event)
            else { continue }
            if row.phase == .borrowed {
                try await store.remove(row.id, keeping: nil)
                return .forPage
            }
            guard let phase = step.phase else {
                try await store.remove(row.id, keeping: nil)
                return .over
            }
            try await write(row, phase, token: link["token"])
            return phase == .exchanging ? .toBeFinished : .over
        }
        return nil
    }

    private func write(_ row: AttemptRecord, _ phase: AttemptPhase, token: String?) async throws {
        var next = row
        next.phase = phase
        if phase == .exchanging {
            let sealer = try await AttemptSealer.open(secrets, random: random)
            guard let secret = sealer.open(row.sealed, attempt: row.id), let verifier = secret["verifier"] else {
                throw NacreError("sign_in.store", "This sign-in can no longer be read; start it again.")
            }
            next.sealed = try sealer.seal(["verifier": verifier, "token": JSONValue(token)], attempt: row.id)
        }
        try await store.save(next)
    }
}

extension AttemptEvent {
    /// Whether the link carries the attempt's own `flow`.
    fileprivate var belongs: Bool {
        switch self {
        case .token(.same), .refusal(.same, _), .loggedOut(.same): true
        default: false
        }
    }
}
