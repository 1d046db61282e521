// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// One event for a log: a level, a stable event name, and fields that are already safe to show.
public struct LogRecord: Sendable {
    /// How much it matters.
    public enum Level: Int, Comparable, Sendable {
        case debug, info, notice, warning, error
        public static func < (a: Level, b: Level) -> Bool { a.rawValue < b.rawValue }
        /// The word written in the log.
        public var name: String {
            switch self {
            case .debug: "debug"
            case .info: "info"
            case .notice: "notice"
            case .warning: "warning"
            case .error: "error"
            }
        }
    }

    /// When.
    public let at: Instant
    /// How much it matters.
    public let level: Level
    /// The part that speaks, such as `gateway`.
    public let label: String
    /// A stable name such as `request.done`.
    public let event: String
    /// Details, redacted.
    public let fields: [(String, JSONValue)]
}

/// Takes records; must not block for long and must not throw.
public protocol LogSink: Sendable {
    /// Keeps or drops one record.
    func write(_ record: LogRecord)
}

/// Hears of some of the events that code logs, whatever level is written; for counting. Events that it does not name cost
/// nothing more than without it.
public struct LogObserver: Sendable {
    /// Fields come as they are: nothing of them may be kept.
    public typealias Hear = @Sendable (LogRecord.Level, _ event: String, KeyValuePairs<String, JSONValue>) -> Void

    private let level: LogRecord.Level
    private let events: Set<String>
    let hear: Hear

    /// Hears of these events, and of every event from `level` on.
    public init(from level: LogRecord.Level, and events: Set<String>, hear: @escaping Hear) {
        self.level = level
        self.events = events
        self.hear = hear
    }

    func wants(_ level: LogRecord.Level, _ event: String) -> Bool { level >= self.level || events.contains(event) }
}

/// What code logs through. Values of string fields pass `Redaction` first, so that no secret reaches a sink.
public struct Log: Sendable {
    private let label: String
    private let minimum: LogRecord.Level
    private let time: any TimeSource
    private let sink: any LogSink
    private var observer: LogObserver?

    /// A log for the part called `label`; records below `minimum` are dropped.
    public init(
        label: String, minimum: LogRecord.Level = .info, time: any TimeSource = SystemTime(), sink: any LogSink
    ) {
        self.label = label
        self.minimum = minimum
        self.time = time
        self.sink = sink
    }

    /// The same log under another label.
    public func labelled(_ label: String) -> Log {
        var log = Log(label: label, minimum: minimum, time: time, sink: sink)
        log.observer = observer
        return log
    }

    /// The same log; `observer` hears of its events also when they are not written.
    public func observed(by observer: LogObserver) -> Log {
        var log = self
        log.observer = observer
        return log
    }

    /// A log that keeps nothing.
    public static let none = Log(label: "none", minimum: .error, sink: DiscardingSink())

    // What nobody wants is not even put together.
    public func debug(_ event: String, _ fields: @autoclosure () -> KeyValuePairs<String, JSONValue> = [:]) {
        write(.debug, event, fields)
    }
    public func info(_ event: String, _ fields: @autoclosure () -> KeyValuePairs<String, JSONValue> = [:]) {
        write(.info, event, fields)
    }
    public func notice(_ event: String, _ fields: @autoclosure () -> KeyValuePairs<String, JSONValue> = [:]) {
        write(.notice, event, fields)
    }
    public func warning(_ event: String, _ fields: @autoclosure () -> KeyValuePairs<String, JSONValue> = [:]) {
        write(.warning, event, fields)
    }
    public func error(_ event: String, _ fields: @autoclosure () -> KeyValuePairs<String, JSONValue> = [:]) {
        write(.error, event, fields)
    }

    private func write(
        _ level: LogRecord.Level, _ event: String, _ make: () -> KeyValuePairs<String, JSONValue>
    ) {
        let isHeard = observer?.wants(level, event) ?? false
        guard level >= minimum || isHeard else { return }  // guard: log-unwanted
        let fields = make()
        if isHeard { observer?.hear(level, event, fields) }
        guard level >= minimum else { return }
        let safe = fields.map { ($0.key, Redaction.field($0.key, $0.value)) }
        sink.write(LogRecord(at: time.now, level: level, label: label, event: event, fields: safe))
    }
}

private struct DiscardingSink: LogSink {
    func write(_ record: LogRecord) {}
}

extension LogRecord {
    /// The record as one line of JSON, keys in the order time, level, label, event, then the fields.
    public var line: String {
        var parts = [
            "\"at\":\(at.milliseconds)", "\"level\":\"\(level.name)\"", "\"label\":\(JSONValue.string(label).text)",
            "\"event\":\(JSONValue.string(event).text)",
        ]
        parts += fields.map { "\(JSONValue.string($0.0).text):\($0.1.text)" }
        return "{" + parts.joined(separator: ",") + "}"
    }
}
