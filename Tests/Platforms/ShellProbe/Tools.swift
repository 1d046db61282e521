// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreLinux
import NacrePorts

/// Parts of the Linux adapter by themselves: `shell-probe tool NAME ARGUMENTS…`, one line of answer.
enum Tools {
    static func run(_ arguments: [String]) async {
        do {
            say(try await answer(arguments))
        } catch let error as NacreError {
            say("error \(error.code.rawValue) \(error.message)")
        } catch {
            say("error \(error)")
        }
    }

    private static func answer(_ arguments: [String]) async throws -> String {
        let secrets = SecretServiceStore(applicationID: environment("PROBE_ID", "org.nacre.ShellProbe"), label: "Probe")
        switch arguments[0] {
        case "availability": return "\(await secrets.availability())"
        case "read":
            guard let value = try await secrets.read(arguments[1]) else { return "none" }
            return "value " + String(decoding: value, as: UTF8.self)
        case "write":
            try await secrets.write(arguments[1], Array(arguments[2].utf8))
            return "written"
        case "remove":
            try await secrets.remove(arguments[1])
            return "removed"
        case "browser":
            try await LinuxBrowser().open(arguments[1])
            return "opened"
        case "install":
            let entry = try DesktopEntry.forDevelopment(
                applicationID: environment("PROBE_ID", "org.nacre.ShellProbe"), name: "Probe", schemes: ["probe-link"],
                program: arguments[1], folder: arguments[2])
            return try await DesktopInstaller().install(entry).joined(separator: " ")
        case "device": return "\(LinuxDevice.current())"
        default: return "no such tool"
        }
    }
}
