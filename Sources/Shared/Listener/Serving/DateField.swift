// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import Synchronization

/// The value of the Date field (RFC 9110 section 5.6.7), made once a second.
final class DateField: Sendable {
    private let time: any TimeSource
    private let cached = Mutex<(second: Int64, text: String)>((.min, ""))

    init(time: any TimeSource) { self.time = time }

    var value: String {
        let second = time.now.seconds
        return cached.withLock { cached in
            if cached.second != second { cached = (second, Self.text(second)) }
            return cached.text
        }
    }

    /// `Sun, 06 Nov 1994 08:49:37 GMT` for seconds since 1970.
    static func text(_ seconds: Int64) -> String {
        let days = (seconds - modulo(seconds, 86_400)) / 86_400
        let rest = modulo(seconds, 86_400)
        let (year, month, day) = civil(days)
        let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let clock = "\(two(rest / 3600)):\(two(rest / 60 % 60)):\(two(rest % 60))"
        let fourDigits = String(("000" + String(year)).suffix(4))
        return "\(weekdays[Int(modulo(days, 7))]), \(two(day)) \(months[Int(month) - 1]) \(fourDigits) \(clock) GMT"
    }

    /// Year, month and day of the proleptic Gregorian calendar, counting years from 1 March.
    private static func civil(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = (shifted - modulo(shifted, 146_097)) / 146_097
        let dayOfEra = modulo(shifted, 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }

    private static func modulo(_ value: Int64, _ divisor: Int64) -> Int64 {
        let rest = value % divisor
        return rest < 0 ? rest + divisor : rest
    }

    private static func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
}
