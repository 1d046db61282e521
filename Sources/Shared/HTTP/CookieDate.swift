// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore

/// Reads the dates servers put into `Expires` (RFC 6265bis section 5.1.1), as leniently as it demands.
enum CookieDate {
    static func parse(_ text: String) -> Instant? {
        var time: (Int, Int, Int)?
        var day: Int?
        var month: Int?
        var year: Int?
        let tokens = text.utf8.split(whereSeparator: isDelimiter).map { Substring($0) }
        for token in tokens {
            if time == nil, let found = clock(token) {
                time = found
            } else if day == nil, let number = number(token, digits: 1...2) {
                day = number
            } else if month == nil, let index = months.firstIndex(of: token.prefix(3).lowercased()) {
                month = index + 1
            } else if year == nil, let number = number(token, digits: 2...4) {
                year = number
            }
        }
        guard let (hour, minute, second) = time, let day, let month, var year else { return nil }
        if (70...99).contains(year) { year += 1900 }
        if (0...69).contains(year) { year += 2000 }
        guard day >= 1, day <= length(of: month, year), year >= 1601, hour < 24, minute < 60, second < 60 else {
            return nil
        }
        let days = daysFromCivil(year: year, month: month, day: day)
        return Instant(seconds: Int64(days) * 86400 + Int64(hour * 3600 + minute * 60 + second))
    }

    /// The grammar's `delimiter`, by bytes: what is not ASCII belongs to a token.
    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

    private static func number(_ token: Substring, digits: ClosedRange<Int>) -> Int? {
        let leading = token.utf8.prefix { (0x30...0x39).contains($0) }
        return digits.contains(leading.count) ? Int(Substring(leading)) : nil
    }

    private static func clock(_ token: Substring) -> (Int, Int, Int)? {
        let parts = token.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let hour = number(parts[0], digits: 1...2),
            let minute = number(parts[1], digits: 1...2),
            let second = number(parts[2], digits: 1...2)
        else { return nil }
        return (hour, minute, second)
    }

    private static func length(of month: Int, _ year: Int) -> Int {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        default: 31
        }
    }

    /// Days since 1970-01-01 in the proleptic Gregorian calendar.
    private static func daysFromCivil(year: Int, month: Int, day: Int) -> Int {
        let y = month <= 2 ? year - 1 : year
        let era = (y >= 0 ? y : y - 399) / 400
        let yearOfEra = y - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146097 + dayOfEra - 719468
    }
}
