// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCommands
import NacreCore
import NacreServer

/// The commands without a window.
enum NacreCommand {
    static let usage = """
        usage: nacre run [--dev-server URL] [--phone] [--choose-server] [FOLDER] [LINK…]
               nacre init [--api ORIGIN] [--choose-server] [--force] [--print] [FOLDER]
               nacre serve [--config FILE] [--data FOLDER]
               nacre admin sessions|users|migrate|backup|restore|rotate-keys …   (nacre admin help)
               nacre ota keygen|bucket|publish|promote|rollback|revoke|inspect|verify|freshness|keys …   (nacre ota help)
        """

    /// Runs the command that `arguments` begin with and returns the process's exit code.
    static func main(_ arguments: [String], _ environment: [String: String]) async -> Int32 {
        do {
            switch arguments.first {
            case "serve":
                try await ServeCommand(arguments: Array(arguments.dropFirst()), environment: environment).run()
                return 0
            case "init":
                try InitCommand(arguments: Array(arguments.dropFirst()), environment: environment).run()
                return 0
            case "admin":
                try await AdminCommand(arguments: Array(arguments.dropFirst()), environment: environment).run()
                return 0
            case "ota":
                return try await OtaCommand(arguments: Array(arguments.dropFirst()), environment: environment).run()
            case "version", "--version":
                print("nacre \(ServerConfiguration.version)")
                return 0
            case "help", "--help", "-h":
                print(usage)
                return 0
            default: throw NacreError("usage", usage)
            }
        } catch {
            return complain(error)
        }
    }

    /// Says on standard error what went wrong; 2 for a wrong call, 78 (EX_CONFIG of sysexits.h) for a wrong configuration,
    /// which a service manager need not try again, 1 for anything else.
    static func complain(_ error: any Error) -> Int32 {
        let text = (error as? NacreError)?.message ?? "\(error)"
        StandardError.say("nacre: \(text)")
        let code = (error as? NacreError)?.code.rawValue ?? ""
        return code == "usage" ? 2 : code.hasPrefix("configuration.") ? 78 : 1
    }
}
