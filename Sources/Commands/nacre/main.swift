// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore

// Arguments and environment become one configuration; the rest is elsewhere.
let arguments = Array(CommandLine.arguments.dropFirst())
do {
    switch arguments.first {
    case "serve":
        try await ServeCommand(
            arguments: Array(arguments.dropFirst()), environment: ProcessInfo.processInfo.environment
        ).run()
    default:
        throw NacreError("usage", "usage: nacre serve [--config FILE] [--data FOLDER]")
    }
} catch let error as NacreError {
    FileHandle.standardError.write(Data("nacre: \(error.message)\n".utf8))
    exit(error.code == "usage" ? 2 : 1)
}
