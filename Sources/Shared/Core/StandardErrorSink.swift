// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// Writes each record as one line of JSON to standard error, where a service manager picks it up.
public struct StandardErrorSink: LogSink {
    /// A sink on standard error.
    public init() {}

    /// Writes one line; lines of several tasks do not mix, because a line is one write.
    public func write(_ record: LogRecord) { Platform.writeToStandardError(Array((record.line + "\n").utf8)) }
}
