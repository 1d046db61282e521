// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore

/// So many times in so long: all at once at first, then again one by one, each after its share of the window.
package struct Limit: Sendable {
    /// What is counted, such as `exchange`. Part of the key in the table.
    package let name: String
    /// How often in one window.
    package let count: Int
    /// The window.
    package let window: Duration

    package init(_ name: String, _ count: Int, per window: Duration) {
        precondition(count > 0 && window > .zero, "a limit lets something pass")
        self.name = name
        self.count = count
        self.window = window
    }

    /// Whom one count is for, such as a client's network or an account.
    package func of(_ key: String) -> LimitedKey { LimitedKey(limit: self, key: key) }

    /// Microseconds after which one more is free: milliseconds are too coarse for some thousand in a minute.
    var interval: Int64 { max(1, windowLength / Int64(count)) }
    var windowLength: Int64 { window.inMilliseconds * 1000 }
}

/// One count: a limit for somebody.
package struct LimitedKey: Sendable {
    package let limit: Limit
    package let key: String
}

/// One count's state by the generic cell rate algorithm (ITU-T I.371): the moment at which it would be empty again.
struct Cell {
    /// In microseconds since the epoch; in the past when the count is empty.
    var emptyAt: Int64

    /// How many microseconds to wait for one more; zero when there is room.
    func wait(_ limit: Limit, now: Int64) -> Int64 {
        max(0, max(emptyAt, now) + limit.interval - now - limit.windowLength)
    }

    mutating func take(_ limit: Limit, now: Int64) { emptyAt = max(emptyAt, now) + limit.interval }
    mutating func giveBack(_ limit: Limit) { emptyAt -= limit.interval }
}
