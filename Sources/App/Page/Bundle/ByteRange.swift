// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreHTTP

/// A `Range` field against a size (RFC 9110 section 14).
enum ByteRange: Hashable {
    /// No usable range: answer with everything. Several ranges at once count as none, which the RFC allows.
    case all
    /// These bytes: 206.
    case part(Range<Int>)
    /// No byte of it exists: 416.
    case unsatisfiable

    /// What `field` asks of `size` bytes.
    init(_ field: String?, size: Int) {
        self = .all
        let halves = (field ?? "").parts(at: "=", most: 2, keepingEmpty: true)
        guard halves.count == 2, equalNames(halves[0], "bytes") else { return }
        let ends = halves[1].trimmingSpaces().parts(at: "-", most: 2, keepingEmpty: true)
        guard ends.count == 2 else { return }
        let (first, last) = (ends[0], ends[1])
        // Of several ranges the comma is no digit.
        guard (first + last).utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return }
        if first.isEmpty {
            guard !last.isEmpty else { return }
            let count = min(Int(last) ?? Int.max, size)
            self = count == 0 ? .unsatisfiable : .part(size - count..<size)
            return
        }
        let start = Int(first) ?? Int.max
        guard start < size else {
            self = .unsatisfiable
            return
        }
        let end = last.isEmpty ? size - 1 : min(Int(last) ?? Int.max, size - 1)
        // Backwards is malformed, so the field is ignored.
        if end >= start { self = .part(start..<end + 1) }
    }
}
