// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore

/// The Capacitor configuration of a folder.
struct ConfigurationSource {
    /// In the order in which Capacitor looks for them.
    private static let names = ["capacitor.config.ts", "capacitor.config.js", "capacitor.config.json"]

    /// The file that was read, or nil when there is none.
    let file: String?
    let value: ScriptValue
    private(set) var notes: [ProjectNote] = []

    /// Reads the configuration; a folder without one has an empty one.
    ///
    /// - Throws: `init.script`, `init.no_configuration`, `json.malformed`, `init.file_too_large`.
    init(_ files: some ProjectFiles) throws(NacreError) {
        let found = Self.names.filter(files.exists)
        guard let file = found.first,
            let bytes = try files.read(file, upTo: ScriptLexer.maximumBytes)
        else {
            self.file = nil
            value = .object([])
            return
        }
        self.file = file
        if file.hasSuffix(".json") {
            do throws(NacreError) { value = ScriptValue(try JSONParser.parse(bytes)) } catch {
                throw NacreError("json.malformed", "\(file): \(error.message)")
            }
            guard value.members != nil else {
                throw NacreError("init.no_configuration", "\(file) holds no object; write it as {\"appId\": …}.")
            }
        } else {
            let script = try ConfigurationScript(bytes, file: file)
            value = script.value
            for change in script.laterChanges {
                notes.append(
                    ProjectNote(
                        .lost, file,
                        "\(change): the file handles its configuration further, which only running it shows",
                        do: "compare nacre.json with what `npx cap sync` writes into capacitor.config.json"))
            }
        }
        for other in found.dropFirst() {
            notes.append(ProjectNote(.look, other, "was not read: Capacitor itself prefers \(file)"))
        }
    }

    /// The setting at a path such as `server.url`.
    subscript(path: String) -> ScriptValue? {
        var value = value
        for key in path.split(separator: ".") {
            guard let member = value.members?.first(where: { $0.key == key }) else { return nil }
            value = member.value
        }
        return value
    }

    /// Every setting with its path; objects are opened, arrays are not.
    var settings: [(path: String, value: ScriptValue)] {
        var found: [(String, ScriptValue)] = []
        func open(_ value: ScriptValue, _ path: String) {
            guard case .object(let members) = value, path.isEmpty || !members.isEmpty else {
                found.append((path, value))
                return
            }
            for member in members { open(member.value, path.isEmpty ? member.key : "\(path).\(member.key)") }
        }
        open(value, "")
        return found
    }
}
