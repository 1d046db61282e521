// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
import Synchronization

/// Keeps the last records that go to a log, for a problem report; warnings and errors longer than the rest.
package final class LogTail: LogSink {
    private struct State {
        var lines: [String] = []
        var faults: [String] = []
    }

    private let next: any LogSink
    private let mostLines: Int
    private let mostFaults: Int
    private let state = Mutex(State())

    /// - Parameter next: takes every record as well.
    package init(next: any LogSink, lines: Int = 200, faults: Int = 50) {
        self.next = next
        mostLines = lines
        mostFaults = faults
    }

    package func write(_ record: LogRecord) {
        next.write(record)
        // A line that a page has blown up is no more use than its beginning.
        let line = String(record.line.prefix(2000))
        state.withLock { state in
            Self.append(line, to: &state.lines, most: mostLines)
            if record.level >= .warning { Self.append(line, to: &state.faults, most: mostFaults) }
        }
    }

    private static func append(_ line: String, to lines: inout [String], most: Int) {
        if lines.count >= most { lines.removeFirst(lines.count - most + 1) }
        lines.append(line)
    }

    /// The last records, oldest first, as lines.
    package var lines: [String] { state.withLock { $0.lines } }
    /// The last warnings and errors, oldest first, as lines.
    package var faults: [String] { state.withLock { $0.faults } }
}
