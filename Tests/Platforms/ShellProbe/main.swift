// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Dispatch
import Glibc
import NacreGTKShell

// The shell alone, around a page and an endpoint that the test brings (`run`): each event is a line on standard output.

func environment(_ name: String, _ fallback: String = "") -> String {
    getenv(name).map { String(cString: $0) } ?? fallback
}

if CommandLine.arguments.dropFirst().first == "tool" {
    Task {
        await Tools.run(Array(CommandLine.arguments.dropFirst(2)))
        exit(0)
    }
    dispatchMain()
}

let identity = ShellIdentity(
    applicationID: environment("PROBE_ID", "org.nacre.ShellProbe"), name: "Shell Probe",
    singleInstance: environment("PROBE_UNIQUE", "1") == "1")

exit(
    GTKShell.run(identity, links: Array(CommandLine.arguments.dropFirst())) { handle in
        let home = environment("PROBE_HOME")
        let proxy = ShellProxy(
            port: UInt16(environment("PROBE_PORT"))!, user: "app", secret: environment("PROBE_SECRET"),
            certificatePEM: environment("PROBE_CERTIFICATE"),
            certificateHosts: environment("PROBE_HOSTS").split(separator: " ").map(String.init))
        let origin = environment("PROBE_ORIGIN", "https://localhost")
        var configuration = ShellConfiguration(
            origin: origin, startURL: origin + environment("PROBE_PATH", "/"), proxy: proxy,
            dataFolder: home + "/data", cacheFolder: home + "/cache")
        configuration.windowStateFile = home + "/window"
        configuration.developer = environment("PROBE_DEVELOPER", "1") == "1"
        configuration.phone = environment("PROBE_PHONE") == "1"
        configuration.colorScheme = environment("PROBE_DARK") == "1" ? .dark : .system
        configuration.userScripts = [
            UserScript(
                source: """
                    globalThis.nacreReceive = e => document.dispatchEvent(new CustomEvent('probe-event', {detail: e}));
                    document.addEventListener('probe-request', async e => {
                      let answer;
                      try { answer = await webkit.messageHandlers.nacre.postMessage(e.detail) }
                      catch (error) { answer = 'error: ' + error.message }
                      document.dispatchEvent(new CustomEvent('probe-reply', {detail: answer}))
                    })
                    """, world: .bridge),
            UserScript(source: "window.probeInjected = true", world: .page),
        ]
        return (configuration, Probe(handle))
    })
