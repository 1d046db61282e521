// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Dispatch
import Foundation

// Arguments and environment become one configuration; the rest is elsewhere. No `await` here: a window needs the main
// thread for itself, and top-level code that awaits has given it away.
let arguments = ProgramArguments.current()
let environment = ProcessInfo.processInfo.environment

if arguments.first == "run" {
    exit(RunCommand.main(Array(arguments.dropFirst()), environment))
}
Task { exit(await NacreCommand.main(arguments, environment)) }
dispatchMain()
