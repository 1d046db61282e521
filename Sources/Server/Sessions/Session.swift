// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore

/// One signed-in session: one row, however it is presented.
package struct Session: Sendable {
    /// Names the session in lists and logs; no credential.
    package let id: String
    /// Which method recognised the person.
    package let method: String
    /// The provider that knows the person.
    package let issuer: String
    /// The person's stable identifier at that provider.
    package let subject: String
    /// The provider's own session.
    package let providerSession: String?
    /// When the person last proved who they are.
    package let authenticatedAt: Instant?
    /// The level reached (`acr`).
    package let level: String?
    /// The means used (`amr`).
    package let means: [String]
    /// Claims to show and pass on.
    package let profile: JSONValue
    /// A name for the device, for the list of sessions.
    package let device: String?
    /// When it began.
    package let createdAt: Instant
    /// When it was last used, to about five minutes.
    package let lastSeenAt: Instant
    /// When it ends unless it is used.
    package let idleExpiresAt: Instant
    /// When it ends even if it is used.
    package let expiresAt: Instant
    /// From when on the method is asked again.
    package let revalidateAt: Instant
    /// The session it was derived from; it ends with that one.
    package let parent: String?
    /// What its client shows: a cookie, a bearer token, or a pair of tokens.
    package let presentation: SessionPresentation
    /// Before that the method is not asked again, because it could not be reached.
    package let retryAt: Instant?
    /// The secret under its CSRF tokens.
    package let csrfSecret: [UInt8]
    /// Refresh and ID token, opened.
    package let secrets: SessionSecrets

    /// A stable identifier of the person, the same for every session: a hash of issuer and subject.
    package var userID: String { Session.userID(issuer: issuer, subject: subject) }
}

/// How long sessions live (HO-13).
package struct SessionPolicy: Sendable {
    /// The device window: a session ends after so long without use. Default 30 days (`SESSION_COOKIE_AGE`).
    package var idle: Duration
    /// A session ends after so long even if it is used. Default 365 days.
    package var absolute: Duration
    /// After so long the method is asked again. Default 12 hours (`SESSION_REVALIDATE_AGE`).
    package var revalidateAge: Duration
    /// How long a session lives on when the method cannot be asked. Default 24 hours (`SESSION_GRACE_AGE`).
    package var grace: Duration
    /// How often a use is written down. Default 5 minutes.
    package var touchInterval: Duration
    /// How long after a failed attempt the method is not asked again, by any process. Default 60 seconds.
    package var retryInterval: Duration
    /// How long one process may take to ask the method while the others let the session be. Default 120 seconds.
    package var claimInterval: Duration = .seconds(120)
    /// How many sessions one person may have; the one that was used the longest ago ends for a new one. As many more may
    /// wait for their app. Default 100 (`SESSION_MAX_PER_PERSON`).
    package var perPerson = 100

    package init(
        idle: Duration = .seconds(30 * 86400), absolute: Duration = .seconds(365 * 86400),
        revalidateAge: Duration = .seconds(12 * 3600), grace: Duration = .seconds(24 * 3600),
        touchInterval: Duration = .seconds(300), retryInterval: Duration = .seconds(60)
    ) {
        self.idle = idle
        self.absolute = absolute
        self.revalidateAge = revalidateAge
        self.grace = grace
        self.touchInterval = touchInterval
        self.retryInterval = retryInterval
    }
}

/// How a client presents its session. Each session has one presentation and is found by no other.
package enum SessionPresentation: String, Sendable, CaseIterable {
    /// The `sessionid` cookie.
    case cookie
    /// One token in `Authorization: Bearer`, for as long as the session lives.
    case bearer
    /// A short access token and a rotating refresh token (JW-1).
    case pair
}
