// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreServer

/// The configuration of the server half as `--config`, `--data`, its file and the environment say.
struct ServerSettings {
    /// Here, else where the Debian package keeps it.
    private static let defaultFiles = ["nacre.server.json", "/etc/nacre/nacre.server.json"]

    let configuration: ServerConfiguration
    let warnings: [String]

    /// Takes the two options out of `words`, wherever they stand, and reads everything.
    ///
    /// - Throws: `usage` or `configuration.*`.
    init(_ words: inout ArraySlice<String>, _ environment: [String: String], usage: String) throws(NacreError) {
        var options: [String: String] = [:]
        for name in ["--config", "--data"] {
            guard let place = words.firstIndex(of: name) else { continue }
            guard place + 1 < words.endIndex else { throw NacreError("usage", "\(name) needs a value. \(usage)") }
            options[name] = words[place + 1]
            words.removeSubrange(place...(place + 1))
            // Copied, so that indices count from 0 again.
            words = Array(words)[...]
        }
        var environment = environment
        environment["NACRE_DATA"] = options["--data"] ?? environment["NACRE_DATA"]
        let file = options["--config"] ?? Self.found(environment)
        let json = try Self.read(file, isNamed: options["--config"] != nil)
        configuration = try ServerConfiguration(json: json, file: file, environment: environment) { path in
            try String(contentsOfFile: path, encoding: .utf8)
        }
        warnings = ServerConfiguration.misspelled(in: environment)
    }

    /// A developer's machine may have the package installed too: its configuration is not meant there.
    private static func found(_ environment: [String: String]) -> String {
        guard environment["NACRE_ENV"] != "development" else { return defaultFiles[0] }
        return defaultFiles.first { FileManager.default.fileExists(atPath: $0) } ?? defaultFiles[0]
    }

    /// The file's content; a missing file is an empty one unless it was named.
    private static func read(_ file: String, isNamed: Bool) throws(NacreError) -> JSONValue {
        guard let content = try ConfigurationFile.content(of: file, isNamed: isNamed) else { return [:] }
        do { return try JSONParser.parse(content) } catch {
            throw NacreError("configuration.file", "\(file): \(error.message)", cause: error)
        }
    }
}
