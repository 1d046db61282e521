// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore

extension Instant {
    /// Such as `2026-11-30T19:27:02Z`.
    package var iso8601: String {
        let (date, time) = fields
        return "\(date.0)-\(Self.two(date.1))-\(Self.two(date.2))T\(Self.two(time.0)):\(Self.two(time.1)):"
            + "\(Self.two(time.2))Z"
    }

    /// Such as `20261130T192702Z`, as signatures of S3 have it.
    package var basicTime: String { iso8601.filter { $0 != "-" && $0 != ":" } }

    /// Year, month, day; hour, minute, second; in UTC, Gregorian.
    private var fields: ((Int, Int, Int), (Int, Int, Int)) {
        let (days, second) = Int(seconds).quotientAndRemainder(dividingBy: 86_400)
        // Days since 1 March of the year 0, so that the leap day is the last of its year.
        let shifted = days + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
        return ((year, month, day), (second / 3600, second / 60 % 60, second % 60))
    }

    private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
