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
        guard let field, field.lowercased().hasPrefix("bytes=") else { return }
        let spec = field.dropFirst(6).trimmingSpaces()
        guard let dash = spec.firstIndex(of: "-"), !spec.contains(",") else { return }
        let first = spec[..<dash]
        let last = spec[spec.index(after: dash)...]
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
