// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCommands
import NacreCore

// Arguments and environment become one configuration; the rest is elsewhere.
do {
    let command = try DemoCommand(arguments: Array(CommandLine.arguments.dropFirst()))
    try await command.run()
} catch let error as NacreError {
    StandardError.say("nacre-demo: \(error.message)")
    exit(1)
}
