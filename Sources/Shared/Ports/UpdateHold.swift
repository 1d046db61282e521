// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// Holds the installing of a staged update while a sign-in or sign-out is in flight (HO-10).
package protocol UpdateHold: Sendable {
    /// Holds for one attempt; ends by `release` or after the attempt's 15 minutes.
    func hold(attempt: String) async
    /// Ends the hold of that attempt; harmless when repeated.
    func release(attempt: String) async
}
