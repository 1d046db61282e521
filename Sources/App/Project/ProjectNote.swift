// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// What became of one setting of the old configuration, or what was seen in the bundle.
package struct ProjectNote: Equatable, Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        /// It stands in `nacre.json`.
        case carried
        /// Nacre does it without a setting.
        case needless
        /// It has no place in `nacre.json`.
        case lost
        /// Somebody should look at it.
        case look
    }

    package let kind: Kind
    /// The setting as the old configuration names it, a key of `nacre.json`, or a file of the bundle.
    package let key: String
    /// What became of it and why.
    package let reason: String
    /// What to do, where there is something to do.
    package let remedy: String?

    package init(_ kind: Kind, _ key: String, _ reason: String, do remedy: String? = nil) {
        self.kind = kind
        self.key = key
        self.reason = reason
        self.remedy = remedy
    }
}
