// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCommands
import NacreCore
import NacreServer

/// `nacre serve`: the server half until SIGTERM or SIGINT.
struct ServeCommand {
    static let usage = "usage: nacre serve [--config FILE] [--data FOLDER]"

    private let settings: ServerSettings
    private let manager: ServiceManager
    private var configuration: ServerConfiguration { settings.configuration }

    /// Reads arguments, file and environment.
    ///
    /// - Throws: `usage` or `configuration.*`.
    init(arguments: [String], environment: [String: String]) throws(NacreError) {
        var words = arguments[...]
        settings = try ServerSettings(&words, environment, usage: Self.usage)
        if let name = words.first { throw NacreError("usage", "\(name) is not an option of serve. \(Self.usage)") }
        manager = try ServiceManager(environment: environment, process: getpid())
    }

    /// Serves until a signal comes; the second signal ends the process at once.
    func run() async throws {
        let log = Log(label: "nacre", minimum: configuration.logLevel, sink: StandardErrorSink())
        for warning in settings.warnings { log.warning("environment.unknown", ["warning": .string(warning)]) }
        let signals = Interruption.begin()
        let server = try await NacreServer(configuration, log: log, manager: manager)
        let places = try await server.start()
        for place in places { print("\(place.name): \(place.url) (port \(place.port))") }
        if configuration.isDevelopment { print("development settings; stop with Ctrl-C") }
        // Whoever waits for these lines may read a pipe.
        fflush(nil)
        manager.ready("serving \(configuration.origin)")
        let watchdog = manager.watchdog.map { interval in
            Task { [manager] in
                // From the pool that serves requests: when that stands still, so does the sign of life.
                while !Task.isCancelled {
                    manager.alive()
                    try? await Task.sleep(for: interval / 2)
                }
            }
        }
        for await _ in signals { break }
        manager.stopping()
        await server.stop()
        watchdog?.cancel()
    }
}
