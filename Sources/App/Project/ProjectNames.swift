// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP

/// Names that a project's folder offers where its configuration gives none.
struct ProjectNames {
    let folder: String
    let package: JSONValue?
    let manifest: JSONValue?
    let title: String?
    let api: Origin?

    /// A name for people, and where it is from.
    var name: (String, from: String) {
        let offers: [(String?, String)] = [
            (manifest?["name"]?.string, "the web manifest's name"), (title, "the page's title"),
            (package?["productName"]?.string, "package.json's productName"),
            (package?["name"]?.string, "package.json's name"),
        ]
        for case (let text?, let place) in offers {
            let clean = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            if !clean.isEmpty, !clean.contains("{{"), clean.utf8.count <= 60 { return (clean, place) }
        }
        return (folder.isEmpty ? "App" : folder, "the folder's name")
    }

    /// The version of `package.json`, unless it is the placeholder that builders write.
    var version: String? {
        guard let text = package?["version"]?.string, text.first?.isNumber ?? false, !text.hasPrefix("0.0.0") else {
            return nil
        }
        return text
    }

    /// The backend's host the other way round: `org.example.mail` for `mail.example.org`.
    var id: String {
        if let api, PublicSuffix.registrableDomain(api.host) != nil {
            let parts = api.host.split(separator: ".").reversed().map { Self.part(String($0)) }
            let id = parts.joined(separator: ".")
            if Self.isID(id) { return id }
        }
        return "local." + Self.part(name.0.lowercased().filter { $0.isASCII && ($0.isLetter || $0.isNumber) })
    }

    private static func part(_ text: String) -> String {
        guard let first = text.utf8.first else { return "app" }
        return (48...57).contains(first) ? "x" + text : text
    }

    /// Reverse DNS as `app.id` demands it.
    static func isID(_ text: String) -> Bool {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count >= 2 && text.utf8.count <= 200
            && parts.allSatisfy { part in
                guard let first = part.utf8.first, !(48...57).contains(first) else { return false }
                return part.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }
            }
    }
}

/// The plugins that a project's `package.json` asks for.
enum PackageDependencies {
    /// Capacitor's own packages that are no plugins.
    private static let tools: Set<String> = ["core", "cli", "android", "ios", "assets", "docgen"]
    private static let names = [
        "@capacitor/push-notifications": "PushNotifications", "@capacitor/status-bar": "StatusBar",
        "@capacitor/app": "App", "@capgo/capacitor-updater": "CapacitorUpdater",
    ]

    /// The plugin's name, as far as the package's name tells.
    static func plugin(of package: String) -> String? {
        if let known = names[package] { return known }
        guard package.hasPrefix("@capacitor/") else { return nil }
        let name = package.dropFirst("@capacitor/".count)
        guard !tools.contains(String(name)) else { return nil }
        return name.split(separator: "-").map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }

    static func notes(_ package: JSONValue?, plugins: Set<String>) -> [ProjectNote] {
        guard let dependencies = package?["dependencies"]?.object else { return [] }
        return dependencies.keys.sorted().compactMap { name in
            if let plugin = plugin(of: name) { return plugins.contains(plugin) ? nil : lacking(name, plugin) }
            let isTool = name.hasPrefix("@capacitor/")
            return !isTool && name.contains("capacitor") ? lacking(name, nil) : nil
        }
    }

    private static func lacking(_ package: String, _ plugin: String?) -> ProjectNote {
        ProjectNote(
            .lost, "package.json: \(package)",
            "Nacre has no plugin \(plugin ?? "of this package"); its calls are refused with UNIMPLEMENTED",
            do: plugin.map { "let the page ask Capacitor.isPluginAvailable(\"\($0)\") first" }
                ?? "let the page go without it")
    }
}
