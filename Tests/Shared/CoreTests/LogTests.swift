// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreTesting
import Synchronization
import Testing

@Suite("The log") struct LogTests {
    private final class Made: Sendable {
        private let count = Mutex(0)
        var value: Int { count.withLock { $0 } }
        /// Counts that a record's fields were put together.
        func text() -> JSONValue {
            count.withLock { $0 += 1 }
            return "made"
        }
    }

    @Test(
        "what nobody writes and nobody listens to is not put together",
        arguments: [(false, LogRecord.Level.info, 3), (false, .error, 1), (true, .error, 2), (true, .info, 3)])
    func unwanted(isObserved: Bool, minimum: LogRecord.Level, expected: Int) {
        let made = Made()
        let sink = RecordingLogSink()
        let heard = Mutex<[String]>([])
        var log = Log(label: "a", minimum: minimum, sink: sink)
        if isObserved {
            log = log.observed(
                by: LogObserver(from: .error, and: ["counted"]) { _, event, _ in heard.withLock { $0.append(event) } })
        }
        log.debug("dropped", ["a": made.text()])
        log.info("counted", ["a": made.text()])
        log.notice("plain", ["a": made.text()])
        log.error("bad", ["a": made.text()])
        #expect(made.value == expected)
        #expect(sink.events == (minimum == .info ? ["counted", "plain", "bad"] : ["bad"]))
        #expect(heard.withLock { $0 } == (isObserved ? ["counted", "bad"] : []))
    }
}
