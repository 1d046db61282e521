// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore

/// Dates as mail writes them: `Mon, 5 Jan 2026 08:12:00 +0100` (RFC 5322 section 3.3, with the old zone names).
enum MailDate {
    private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
    private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let zones: [String: Int64] = [
        "est": -300, "edt": -240, "cst": -360, "cdt": -300, "mst": -420, "mdt": -360, "pst": -480, "pdt": -420,
    ]

    static func parse(_ text: String?) -> Instant? {
        guard var text else { return nil }
        if let comment = text.firstIndex(of: "(") { text = String(text[..<comment]) }
        if let comma = text.firstIndex(of: ",") { text = String(text[text.index(after: comma)...]) }
        let words = text.split(whereSeparator: \.isWhitespace).map(String.init)
        guard words.count >= 4, let day = Int64(words[0]), (1...31).contains(day),
            let month = months.firstIndex(of: words[1].prefix(3).lowercased()), var year = Int64(words[2]), year >= 0
        else { return nil }
        if year < 50 { year += 2000 } else if year < 1000 { year += 1900 }
        let clock = words[3].split(separator: ":").map { Int64($0) }
        guard (1900...9999).contains(year), (2...3).contains(clock.count), let hour = clock[0], let minute = clock[1],
            (0...23).contains(hour), (0...59).contains(minute), let second = clock.count == 3 ? clock[2] : 0,
            (0...60).contains(second)
        else { return nil }
        let offset = zone(words.count > 4 ? words[4] : "")
        return Instant(
            seconds: number(of: day, Int64(month) + 1, year) * 86_400 + (hour * 60 + minute - offset) * 60 + second)
    }

    private static func zone(_ text: String) -> Int64 {
        guard let sign = text.first, sign == "+" || sign == "-", text.count == 5, let digits = Int64(text.dropFirst())
        else { return zones[text.lowercased()] ?? 0 }
        return (digits / 100 * 60 + digits % 100) * (sign == "-" ? -1 : 1)
    }

    /// The day's number from 1970-01-01, in the proleptic Gregorian calendar.
    private static func number(of day: Int64, _ month: Int64, _ year: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// The moment in UTC as mail writes it.
    static func text(_ moment: Instant) -> String {
        // 2026-01-05T08:12:00.000Z
        let parts = moment.timestamp.split { "-T:.Z".contains($0) }.map(String.init)
        let day = moment.milliseconds.dividedFloor(by: 86_400_000)
        let weekday = days[Int(((day % 7) + 7) % 7)]
        let month = months[(Int(parts[1]) ?? 1) - 1]
        return "\(weekday), \(parts[2]) \(month.prefix(1).uppercased())\(month.dropFirst()) \(parts[0]) "
            + "\(parts[3]):\(parts[4]):\(parts[5]) +0000"
    }
}

extension Int64 {
    fileprivate func dividedFloor(by other: Int64) -> Int64 { self >= 0 ? self / other : (self - other + 1) / other }
}
