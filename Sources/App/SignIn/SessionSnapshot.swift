// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacrePorts
package import NacreWire

/// The session at one moment, as the page sees it in `nacre.session.current`.
package struct SessionSnapshot: Sendable, Equatable {
    package enum State: String, Sendable {
        /// Not read yet.
        case unknown
        case signedOut
        case signingIn
        case signedIn
        /// The secret store must be unlocked first; nobody has been signed out (SE-1).
        case locked
    }

    /// Why the state is what it is.
    package enum Reason: String, Sendable {
        case signedOut = "signed_out"
        case cancelled
        case failed
        case sessionExpired = "session_expired"
        case sessionRevoked = "session_revoked"
    }

    /// What went wrong, for a person and for a program.
    package struct Fault: Sendable, Equatable {
        package let code: String
        package let message: String

        package init(code: String, message: String) {
            self.code = code
            self.message = message
        }

        package init(_ error: NacreError) { self.init(code: error.code.rawValue, message: error.message) }

        package var json: JSONValue { ["code": .string(code), "message": .string(message)] }
    }

    package var state: State
    package var reason: Reason?
    package var error: Fault?
    package var profile: UserProfile?
    package var server: Reachability
    package var keptIn: SecretStoreKind
    /// One sentence the person should see, or nil.
    package var notice: String?
    /// Counts the sessions of this process: another number, another session. Not for the page.
    package var generation: UInt64

    package init(
        state: State, reason: Reason? = nil, error: Fault? = nil, profile: UserProfile? = nil,
        server: Reachability = .unknown, keptIn: SecretStoreKind, notice: String? = nil,
        generation: UInt64 = 0
    ) {
        self.state = state
        self.reason = reason
        self.error = error
        self.profile = profile
        self.server = server
        self.keptIn = keptIn
        self.notice = notice
        self.generation = generation
    }

    package var json: JSONValue {
        [
            "state": .string(state.rawValue), "reason": JSONValue(reason?.rawValue), "error": error?.json ?? .null,
            "profile": profile.map {
                [
                    "id": .string($0.id), "email": JSONValue($0.email), "name": JSONValue($0.fullName),
                    "language": JSONValue($0.language),
                ]
            } ?? .null,
            "server": .string(server.rawValue), "keptIn": .string(keptIn.rawValue), "notice": JSONValue(notice),
        ]
    }
}
