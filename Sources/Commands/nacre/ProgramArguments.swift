// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation

/// The words of the command line after the program's name.
enum ProgramArguments {
    static func current() -> [String] {
        let known = CommandLine.arguments
        guard known.isEmpty else { return Array(known.dropFirst()) }
        // Under a preloaded library, such as libfaketime of the journeys, the runtime finds no arguments; the kernel does.
        let bytes = FileManager.default.contents(atPath: "/proc/self/cmdline") ?? Data()
        return bytes.split(separator: 0, omittingEmptySubsequences: false).dropFirst().dropLast().map {
            String(decoding: $0, as: UTF8.self)
        }
    }
}
