// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// The part of a file that a `Range` field asks for (RFC 9110 section 14), as a player does to seek.
struct ByteRange: Equatable {
    let first: Int
    let count: Int

    /// What a field means for a file of `size` bytes.
    enum Reading: Equatable {
        /// The whole: no range, one that is not understood, or several (which we may leave aside).
        case whole
        case part(ByteRange)
        /// Nothing of it is there.
        case beyond
    }

    static func read(_ field: String?, size: Int) -> Reading {
        guard let field, field.lowercased().hasPrefix("bytes=") else { return .whole }
        let halves = field.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
            .map { $0.trimmingPrefix { $0 == " " } }
        guard halves.count == 2, halves.allSatisfy({ $0.utf8.allSatisfy { (48...57).contains($0) } }) else {
            return .whole
        }
        // A number too large for us lies beyond every end.
        let from = halves[0].isEmpty ? nil : Int(halves[0]) ?? Int.max
        let to = halves[1].isEmpty ? nil : Int(halves[1]) ?? Int.max
        switch (from, to) {
        case (nil, nil): return .whole
        case (nil, let last?):
            let count = min(last, size)
            return count == 0 ? .beyond : .part(ByteRange(first: size - count, count: count))
        case (let first?, let last):
            if let last, last < first { return .whole }
            guard first < size else { return .beyond }  // guard: range-beyond
            let end = min(last ?? size - 1, size - 1)
            return .part(ByteRange(first: first, count: end - first + 1))
        }
    }
}
