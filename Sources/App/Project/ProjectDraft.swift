// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore

/// A `nacre.json` to be written.
package struct ProjectDraft: Equatable, Sendable {
    package var id = ""
    package var name = ""
    package var version = ""
    package var scheme = ""
    package var origin = ""
    package var bundlePath = ""
    package var api = ""
    /// Whether a person chooses the server; `api` is then what is proposed, or empty.
    package var choosesServer = false
    /// The public key of the source system's updates, in PEM.
    package var publicKey: String?

    /// An empty draft.
    package init() {}

    /// The file's text, in the order in which the documentation names the keys.
    package var text: String {
        func line(_ key: String, _ value: String) -> String {
            "    \(JSONValue.string(key).text): \(JSONValue.string(value).text)"
        }
        func section(_ key: String, _ lines: [String]) -> String {
            "  \"\(key)\": {\n\(lines.joined(separator: ",\n"))\n  }"
        }
        var sections = [
            section(
                "app",
                [
                    line("id", id), line("name", name), line("version", version), line("scheme", scheme),
                    line("origin", origin),
                ]),
            section("bundle", [line("path", bundlePath)]),
            section(
                "api", (choosesServer ? ["    \"choose\": true"] : []) + (api.isEmpty ? [] : [line("origin", api)])),
            section("signIn", [line("kind", "handoff")]),
        ]
        if let publicKey { sections.append(section("updates", [line("publicKey", publicKey)])) }
        return "{\n" + sections.joined(separator: ",\n") + "\n}\n"
    }
}
