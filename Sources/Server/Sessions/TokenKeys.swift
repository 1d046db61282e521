// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreKeys

/// The keys (ES256) under access and refresh tokens. They lie sealed in the database, so that every process signs and
/// verifies alike; they sign nothing else.
enum TokenKeys {
    /// A key signs for so long; the next one follows by itself.
    private static let age: Duration = .seconds(90 * 86400)
    /// How long a new key is known to every process before it signs, whatever their clocks say.
    static let lead: Duration = .seconds(900)

    static func keys(_ store: SessionStore, _ policy: TokenPolicy, log: Log) -> RotatingKeys {
        let table = SealedKeyTable(
            "session_key", counter: "row_id", context: "session/key/",
            refusal: (
                "session.key_sealed",
                "The keys of session tokens in the database do not open with this secret.key; give every process of "
                    + "one database the same file."
            ), database: store.database, sealing: store.sealing, random: store.random)
        let life = RotatingKeys.Life(lead: lead, tail: tail(policy, store.policy), age: age)
        return RotatingKeys(table, life: life, time: store.time, log: log, event: "session")
    }

    /// How long the last token of a key may be presented. It is taken beyond its end by the skew that clocks may have,
    /// and may have been signed by a process whose clock is behind by as much.
    private static func tail(_ policy: TokenPolicy, _ sessions: SessionPolicy) -> Duration {
        var longest = policy.accessAge
        if policy.presentations.contains(.pair) { longest = max(longest, sessions.idle) }
        if policy.presentations.contains(.bearer), policy.bearerIsJWT { longest = max(longest, policy.bearerAge) }
        return min(longest, sessions.absolute) + policy.clockSkew + policy.clockSkew
    }
}
