// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// Where an attempt to sign in or out stands. Written down before anything is done about it (HO-8).
package enum AttemptPhase: String, Sendable, CaseIterable {
    // Signing in.
    /// The browser is open, or about to be.
    case waiting
    /// The token is here; it may have been spent already.
    case exchanging
    /// Cancel was pressed; a success within a second still wins (HO-11).
    case cancelling
    /// Cancel was pressed while the exchange runs.
    case exchangingCancelled

    // Signing out (HO-15).
    /// The browser runs the sign-out at the provider.
    case leaving
    /// What remains: the server's session, then everything here.
    case revoking

    // A page of the bundle signs in by itself and only borrows the browser.
    case borrowed
}

/// How the `flow` of a link compares with the one that was sent.
package enum FlowMatch: Sendable, CaseIterable {
    case same
    /// The peer does not echo it.
    case absent
    case foreign
}

/// What happens to an attempt.
package enum AttemptEvent: Sendable, Equatable {
    /// `scheme://auth?token=…`
    case token(FlowMatch)
    /// `scheme://auth?error=…`
    case refusal(FlowMatch, cancelled: Bool)
    /// `scheme://logout`
    case loggedOut(FlowMatch)
    case exchanged
    /// The server will not exchange the token.
    case exchangeRefused
    /// Nobody could be asked.
    case exchangeFailed
    case cancel
    /// The second after a Cancel has passed.
    case graceOver
    /// The attempt's time is over.
    case expired
    case browserFailed
    /// A new process has found the attempt.
    case resumed
    case revoked
}

/// What is to be done once the new phase is on disk.
package enum AttemptEffect: Sendable, Equatable {
    case exchange
    /// Try a token whose peer echoes no flow; a failure changes nothing.
    case probe
    case startGrace
    /// Give up an exchange under way; should it succeed all the same, its session is revoked.
    case abandonExchange
    case revoke
    case finish(AttemptEnd)
}

/// How an attempt ends.
package enum AttemptEnd: Sendable, Equatable {
    case signedIn
    case cancelled
    /// Refused by the provider, the server or the system.
    case failed
    case expired
    case signedOut
}

/// The whole of it as one function, so that it can be read and tested as a table.
package enum AttemptMachine {
    /// The next phase (nil when the attempt is over) and what is to be done; nil when the event changes nothing.
    package static func step(
        _ phase: AttemptPhase, _ event: AttemptEvent
    ) -> (phase: AttemptPhase?, effects: [AttemptEffect])? {
        switch phase {
        case .waiting: waiting(event)
        case .exchanging: exchanging(event)
        case .cancelling: cancelling(event)
        case .exchangingCancelled: exchangingCancelled(event)
        case .leaving: leaving(event)
        case .revoking: revoking(event)
        case .borrowed: borrowed(event)
        }
    }

    private typealias Step = (phase: AttemptPhase?, effects: [AttemptEffect])?

    private static func ended(_ end: AttemptEnd) -> Step { (nil, [.finish(end)]) }

    private static func waiting(_ event: AttemptEvent) -> Step {
        switch event {
        case .token(.same): (.exchanging, [.exchange])
        case .token(.absent): (.waiting, [.probe])
        case .refusal(.same, let cancelled): ended(cancelled ? .cancelled : .failed)
        case .exchanged: ended(.signedIn)
        case .cancel: (.cancelling, [.startGrace])
        case .expired: ended(.expired)
        case .browserFailed: ended(.failed)
        case .resumed: (.waiting, [])
        // A stranger may open any link of ours: without the flow it changes nothing.
        case .token(.foreign), .refusal, .loggedOut, .exchangeRefused, .exchangeFailed, .graceOver, .revoked: nil
        }
    }

    private static func exchanging(_ event: AttemptEvent) -> Step {
        switch event {
        case .exchanged: ended(.signedIn)
        case .exchangeRefused, .exchangeFailed: ended(.failed)
        case .cancel: (.exchangingCancelled, [.startGrace])
        case .expired: (nil, [.abandonExchange, .finish(.expired)])
        case .resumed: (.exchanging, [.exchange])
        case .token, .refusal, .loggedOut, .graceOver, .browserFailed, .revoked: nil
        }
    }

    private static func cancelling(_ event: AttemptEvent) -> Step {
        switch event {
        case .token(.same): (.exchanging, [.exchange])
        case .token(.absent): (.cancelling, [.probe])
        case .exchanged: ended(.signedIn)
        case .refusal(.same, _), .graceOver, .expired, .resumed: ended(.cancelled)
        case .token(.foreign), .refusal, .loggedOut, .exchangeRefused, .exchangeFailed, .cancel, .browserFailed,
            .revoked:
            nil
        }
    }

    private static func exchangingCancelled(_ event: AttemptEvent) -> Step {
        switch event {
        case .exchanged: ended(.signedIn)
        case .exchangeRefused, .exchangeFailed, .resumed: ended(.cancelled)
        case .graceOver, .expired: (nil, [.abandonExchange, .finish(.cancelled)])
        case .token, .refusal, .loggedOut, .cancel, .browserFailed, .revoked: nil
        }
    }

    private static func leaving(_ event: AttemptEvent) -> Step {
        switch event {
        // HO-15: with or without the browser, from here on it is over on this device.
        case .loggedOut(.same), .loggedOut(.absent), .cancel, .expired, .browserFailed, .resumed:
            (.revoking, [.revoke])
        case .loggedOut(.foreign), .token, .refusal, .exchanged, .exchangeRefused, .exchangeFailed, .graceOver,
            .revoked:
            nil
        }
    }

    private static func revoking(_ event: AttemptEvent) -> Step {
        switch event {
        case .revoked: ended(.signedOut)
        case .resumed: (.revoking, [.revoke])
        case .token, .refusal, .loggedOut, .exchanged, .exchangeRefused, .exchangeFailed, .cancel, .graceOver,
            .expired, .browserFailed:
            nil
        }
    }

    private static func borrowed(_ event: AttemptEvent) -> Step {
        switch event {
        case .token(.same), .token(.absent), .loggedOut(.same), .loggedOut(.absent), .refusal(.same, _),
            .refusal(.absent, _):
            ended(.signedIn)
        case .cancel: ended(.cancelled)
        case .expired: ended(.expired)
        case .browserFailed: ended(.failed)
        case .resumed: (.borrowed, [])
        case .token(.foreign), .refusal(.foreign, _), .loggedOut(.foreign), .exchanged, .exchangeRefused,
            .exchangeFailed, .graceOver, .revoked:
            nil
        }
    }
}
