// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore

#if GTKShell
    import Foundation
    import NacreApp
    import NacreCurl
    import NacreGTKShell
    import NacreLinux
    import NacrePage
    import NacrePlugins
    import NacrePorts
    import NacreSecrets
#endif

/// `nacre run`: this folder's bundle in the Linux shell.
enum RunCommand {
    #if GTKShell
        /// Runs until the window is closed; call it on the main thread.
        static func main(_ arguments: [String], _ environment: [String: String]) -> Int32 {
            let options: RunOptions
            do throws(NacreError) {
                options = try RunOptions(arguments, environment)
            } catch {
                return NacreCommand.complain(error)
            }
            let configuration = options.configuration
            let identity = ShellIdentity(applicationID: configuration.id, name: configuration.name)
            let code = MainActor.assumeIsolated {
                GTKShell.run(identity, links: options.links) { handle in
                    let delegate = try await RunDelegate.start(options, handle: handle)
                    return (try await delegate.shellConfiguration(options), delegate)
                }
            }
            guard code == ShellRestart.code else { return code }
            return NacreCommand.complain(Relaunch.run(["run"] + options.again, options.environment))
        }

        /// The Linux system under the app.
        ///
        /// - Throws: `configuration.authorities`, `tls.trust`.
        static func platform(
            _ options: RunOptions, _ folders: AppFolders, _ log: Log
        ) async throws(NacreError) -> AppPlatform {
            let configuration = options.configuration
            var curl = CurlConfiguration()
            let own = try options.authorities()
            curl.authoritiesFile = configuration.apiAuthorities
            if configuration.apiAuthorities == nil, let own { curl.authoritiesFile = try both(own, folders) }
            let time = SystemTime()
            // The configuration's own server is reached past any proxy; which one it is, is what it is read for.
            let automatic = AutomaticProxy(
                fetch: ProxyScriptFetch.by(CurlTransport(configuration: curl), time: time),
                host: ProxyScriptProcess(command: ["/proc/self/exe", ProxyScriptServer.command]), time: time)
            let proxies = SystemProxyResolver(automatic: automatic, time: time, log: log.labelled("proxy"))
            curl.proxy = { try await proxies.proxy(for: $0, client: .curl) }
            let secrets = await secrets(options, configuration.secretsID, state: folders.state, log)
            let facts = LinuxDevice.current()
            let browser = LinuxBrowser()
            var platform = AppPlatform(
                secrets: secrets, browser: browser, transport: CurlTransport(configuration: curl),
                device: DeviceFacts(
                    platform: "linux", name: facts.name, manufacturer: facts.manufacturer, model: facts.model,
                    systemName: facts.systemName, systemVersion: facts.systemVersion, isVirtual: facts.isVirtual,
                    language: facts.languageTag, battery: { LinuxBattery.now() }, webViewVersion: GTKShell.engineVersion
                ),
                network: LinuxNetwork(), clipboard: GTKClipboard(), share: GTKShare(browser: browser),
                profile: options.profile, pageChannel: options.pageChannel,
                proxy: { try ProxyRoute(uri: try await proxies.proxy(for: $0, client: .tunnel) ?? "direct://") },
                capabilities: ["print", "downloads"], updater: AppUpdates.updater, log: log)
            if let file = configuration.apiAuthorities {
                platform.trust = try trust(file)
            } else if let own {
                platform.trust = try TLSTrust(additionalPEM: own)
            }
            return platform
        }

        /// The keyrings in which the secrets of this name are; `state` is the folder of a file that takes their place.
        static func secrets(
            _ options: RunOptions, _ id: String, state: String, _ log: Log = .none
        ) async -> [any SecretStore] {
            var secrets: [any SecretStore] = [
                SecretServiceStore(applicationID: id, label: options.configuration.name)
            ]
            // An account that is gone has none.
            let isThere = FileManager.default.fileExists(atPath: state)
            if isThere, let passphrase = options.environment["NACRE_PASSPHRASE"], !passphrase.isEmpty {
                let store = PassphraseFileStore(path: state + "/secrets", random: SystemRandom()) { _ in passphrase }
                if !(await store.unlock()) {
                    log.warning("secrets.passphrase", ["reason": "it does not open the store"])
                }
                secrets.append(store)
            }
            return secrets
        }

        /// A file of the system's authorities and the app's own, for libcurl, which takes one file.
        ///
        /// - Throws: `configuration.authorities`, `file.*`.
        private static func both(_ own: String, _ folders: AppFolders) throws(NacreError) -> String {
            let places = [
                "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
                "/etc/ssl/cert.pem",
            ]
            guard let system = places.lazy.compactMap({ FileManager.default.contents(atPath: $0) }).first else {
                throw NacreError(
                    "configuration.authorities", "The system's authorities are not found; install ca-certificates.")
            }
            let path = folders.state + "/authorities.pem"
            try PrivateFile.replace(path, Array(system) + Array(("\n" + own).utf8))
            return path
        }

        private static func trust(_ file: String) throws(NacreError) -> TLSTrust {
            guard let content = FileManager.default.contents(atPath: file) else {
                throw NacreError(
                    "configuration.authorities", "NACRE_API_CA_FILE: \(file) cannot be read; name a PEM file.")
            }
            return try TLSTrust(additionalPEM: String(decoding: content, as: UTF8.self))
        }
    #else
        static func main(_ arguments: [String], _ environment: [String: String]) -> Int32 {
            NacreCommand.complain(
                NacreError(
                    "run.no_shell", "This build has no window (trait GTKShell); build it with GTK and WebKitGTK."))
        }
    #endif
}
