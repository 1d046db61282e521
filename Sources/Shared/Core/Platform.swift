// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

// The only file of this module that asks which system it is built for.
#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What the standard library has no word for.
enum Platform {
    /// The wall clock in milliseconds.
    static func wallClock() -> Instant {
        Instant(milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)))
    }

    /// The shortest decimal text of a finite number, as JSON wants it.
    static func decimal(_ value: Double) -> String {
        if value == value.rounded(), abs(value) < 1e15 { return String(Int64(value)) + ".0" }
        return "\(value)"
    }
}
