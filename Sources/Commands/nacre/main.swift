// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Dispatch
import Foundation

#if GTKShell
    import NacreGTKShell
#endif
#if os(Linux)
    import NacreLinux
#endif

// Arguments and environment become one configuration; the rest is elsewhere. No `await` here: a window needs the main
// thread for itself, and top-level code that awaits has given it away.
let arguments = ProgramArguments.current()
let environment = ProcessInfo.processInfo.environment
#if os(Linux)
    // The key to the secret store is not for the web processes, the browser or any other child.
    LaunchEnvironment.forget("NACRE_PASSPHRASE")
#endif

if arguments.first == "run" {
    exit(RunCommand.main(Array(arguments.dropFirst()), environment))
}
#if GTKShell
    if arguments == [ProxyScriptServer.command] { exit(ProxyScriptServer.run()) }
#endif
Task { exit(await NacreCommand.main(arguments, environment)) }
dispatchMain()
