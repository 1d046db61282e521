// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore
import Synchronization

/// Repeatable randomness (SplitMix64). For tests only: anybody can guess it.
public final class SeededRandom: RandomSource {
    private let state: Mutex<UInt64>

    /// The sequence of this seed.
    public init(_ seed: UInt64 = 1) { state = Mutex(seed) }

    /// The next 64 bits.
    public func next() -> UInt64 {
        state.withLock { state in
            state &+= 0x9E37_79B9_7F4A_7C15
            var word = state
            word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
            word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
            return word ^ (word >> 31)
        }
    }

    /// A number below `bound`.
    public func number(below bound: Int) -> Int { Int(next() % UInt64(max(bound, 1))) }

    public func bytes(_ count: Int) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(count + 8)
        while result.count < count { withUnsafeBytes(of: next().littleEndian) { result += $0 } }
        return Array(result.prefix(count))
    }
}

/// Keeps every record, so that a test can look for an event, or make sure that no secret is there.
public final class RecordingLogSink: LogSink {
    private let state = Mutex<[LogRecord]>([])

    /// An empty sink.
    public init() {}

    public func write(_ record: LogRecord) { state.withLock { $0.append(record) } }

    /// The records so far.
    public var records: [LogRecord] { state.withLock { $0 } }
    /// The names of the events so far.
    public var events: [String] { records.map(\.event) }
    /// Everything as lines of JSON.
    public var text: String { records.map(\.line).joined(separator: "\n") }
}
