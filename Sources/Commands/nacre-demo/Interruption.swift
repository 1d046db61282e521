// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Dispatch
import Foundation
import NacreCore

/// Waits for SIGINT or SIGTERM.
enum Interruption {
    static func wait() async {
        let (signals, continuation) = AsyncStream.makeStream(of: Void.self)
        let sources = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { continuation.yield() }
            source.resume()
            return source
        }
        for await _ in signals { break }
        sources.forEach { $0.cancel() }
    }
}

extension StandardErrorSink {
    /// One plain sentence for the person at the terminal.
    func say(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }
}

/// Ends the process with this status.
func exitProcess(_ status: Int32) -> Never { exit(status) }
