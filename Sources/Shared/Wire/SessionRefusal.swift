// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// The open codes of a 401 to a request with a session (SE-3, SE-4): the gateway sends them, the app half tells the person.
public enum SessionRefusal {
    /// No session of that cookie: it was ended elsewhere, or none was presented.
    public static let absent = "session.absent"
    /// The session ran out just now: the provider renews it no longer, or could not be asked for too long.
    public static let ended = "session.ended"
    /// What other backends may say for a session that was ended elsewhere.
    public static let revoked = "session_revoked"
}
