// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreServer

/// `nacre serve`: the server half until SIGTERM or SIGINT.
struct ServeCommand {
    static let usage = "usage: nacre serve [--config FILE] [--data FOLDER]"
    private static let defaultFile = "nacre.server.json"

    private let configuration: ServerConfiguration
    private let warnings: [String]

    /// Reads arguments, file and environment.
    ///
    /// - Throws: `usage` or `configuration.*`.
    init(arguments: [String], environment: [String: String]) throws(NacreError) {
        var options: [String: String] = [:]
        var rest = arguments[...]
        while let name = rest.popFirst() {
            guard ["--config", "--data"].contains(name) else {
                throw NacreError("usage", "\(name) is not an option of serve. \(Self.usage)")
            }
            guard let value = rest.popFirst() else { throw NacreError("usage", "\(name) needs a value. \(Self.usage)") }
            options[name] = value
        }
        var environment = environment
        environment["NACRE_DATA"] = options["--data"] ?? environment["NACRE_DATA"]
        let file = options["--config"] ?? Self.defaultFile
        let json = try Self.read(file, isNamed: options["--config"] != nil)
        configuration = try ServerConfiguration(json: json, file: file, environment: environment) { path in
            try String(contentsOfFile: path, encoding: .utf8)
        }
        warnings = ServerConfiguration.misspelled(in: environment)
    }

    /// The file's content; a missing file is an empty one unless it was named.
    private static func read(_ file: String, isNamed: Bool) throws(NacreError) -> JSONValue {
        guard isNamed || FileManager.default.fileExists(atPath: file) else { return [:] }
        guard let content = FileManager.default.contents(atPath: file) else {
            throw NacreError("configuration.file", "\(file) cannot be read; check the path and who may read it.")
        }
        do { return try JSONParser.parse([UInt8](content)) } catch {
            throw NacreError("configuration.file", "\(file): \(error.message)", cause: error)
        }
    }

    /// Serves until a signal comes; the second signal ends the process at once.
    func run() async throws {
        let log = Log(label: "nacre", minimum: configuration.logLevel, sink: StandardErrorSink())
        for warning in warnings { log.warning("environment.unknown", ["warning": .string(warning)]) }
        let signals = Interruption.begin()
        let server = try await NacreServer(configuration, log: log)
        let places = try await server.start()
        for place in places { print("\(place.name): \(place.url) (port \(place.port))") }
        if configuration.isDevelopment { print("development settings; stop with Ctrl-C") }
        // Whoever waits for these lines may read a pipe.
        fflush(nil)
        for await _ in signals { break }
        await server.stop()
    }
}
