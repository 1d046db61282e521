// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreReleases

/// Whether a version comes after another, where the two say so themselves: counters before a `-`, as in `123-a1b2c3d`, or
/// dotted numbers. Commit hashes say nothing, and are taken in any order.
enum VersionOrder {
    /// True when `version` is below `current`.
    static func isPassed(_ version: String, by current: String) -> Bool {
        if let one = count(version), let other = count(current) { return one < other }
        guard version.contains("."), current.contains("."), let one = try? NativeVersion(version),
            let other = try? NativeVersion(current)
        else { return false }
        return one < other
    }

    private static func count(_ version: String) -> Int? {
        guard let dash = version.firstIndex(of: "-"), dash > version.startIndex else { return nil }
        let digits = version[..<dash]
        return digits.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(digits) : nil
    }
}
