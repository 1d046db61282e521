// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore

/// A way in which a person is recognised: an OpenID provider today, passwords and passkeys of our own later.
///
/// A session does not care which one it was; it asks the method again when `revalidateAt` has passed (HO-13).
package protocol AuthenticationMethod: Sendable {
    /// The name stored with the session, such as `oidc`.
    var name: String { get }
    /// Asks whether the person may still be signed in.
    func revalidate(_ session: Session) async -> Revalidation
}

/// A method to which the client itself brings what the person knows (JW-1).
package protocol CredentialMethod: AuthenticationMethod {
    /// The person of this address and password, or nil. An unknown address must cost the same time as a wrong password.
    func authenticate(email: String, password: String) async throws -> Authentication?
}

/// What a method answers when it is asked again.
package enum Revalidation: Sendable {
    /// Still welcome; these are the facts as of now.
    case renewed(Authentication)
    /// No longer: the session ends with this reason, such as `invalid_grant`.
    case refused(reason: String)
    /// Nobody could be asked; the session's grace runs.
    case unreachable(NacreError)
}

/// A person recognised: what a session is made of.
package struct Authentication: Sendable {
    /// Which method recognised them.
    package var method: String
    /// The provider that knows the person, as a URL.
    package var issuer: String
    /// The person's stable identifier at that provider; never the email address.
    package var subject: String
    /// The provider's own session, for back-channel logout.
    package var providerSession: String?
    /// When the person last proved who they are.
    package var authenticatedAt: Instant?
    /// The level reached (`acr`).
    package var level: String?
    /// The means used (`amr`).
    package var means: [String]
    /// Claims to show and pass on: `email`, `name`, `locale` and so on.
    package var profile: JSONValue
    /// What must stay secret; sealed at rest.
    package var secrets: SessionSecrets

    package init(
        method: String, issuer: String, subject: String, providerSession: String? = nil,
        authenticatedAt: Instant? = nil, level: String? = nil, means: [String] = [], profile: JSONValue = [:],
        secrets: SessionSecrets = SessionSecrets()
    ) {
        self.method = method
        self.issuer = issuer
        self.subject = subject
        self.providerSession = providerSession
        self.authenticatedAt = authenticatedAt
        self.level = level
        self.means = means
        self.profile = profile
        self.secrets = secrets
    }
}

/// What a session keeps sealed.
package struct SessionSecrets: Sendable, Equatable {
    /// Renews the session at the provider; without one it ends after the revalidation age.
    package var refreshToken: String?
    /// The hint for signing out at the provider.
    package var idToken: String?

    package init(refreshToken: String? = nil, idToken: String? = nil) {
        self.refreshToken = refreshToken
        self.idToken = idToken
    }

    var bytes: [UInt8] { JSONValue(["r": JSONValue(refreshToken), "i": JSONValue(idToken)]).bytes }

    init(bytes: [UInt8]) throws(NacreError) {
        let value = try JSONParser.parse(bytes)
        self.init(refreshToken: value["r"]?.string, idToken: value["i"]?.string)
    }
}

extension JSONValue {
    fileprivate init(_ members: [String: JSONValue]) { self = .object(members) }
}
