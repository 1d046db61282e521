// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacrePorts

/// Carries Capacitor's settings over, one by one, and notes what became of each.
struct SettingMapping {
    private let source: ConfigurationSource
    private let environment: [String: String]
    private(set) var notes: [ProjectNote] = []
    private var handled: Set<String> = []

    init(_ source: ConfigurationSource, environment: [String: String]) {
        self.source = source
        self.environment = environment
    }

    private mutating func note(_ kind: ProjectNote.Kind, _ key: String, _ reason: String, do remedy: String? = nil) {
        notes.append(ProjectNote(kind, key, reason, do: remedy))
    }

    /// Origins that the configuration mentions: one may be the backend's.
    var candidates: [String] {
        var found: [String] = []
        if case .array(let items)? = source["server.allowNavigation"] {
            found += items.compactMap(\.string).filter { !$0.contains("*") }
                .map { $0.contains("://") ? $0 : "https://" + $0 }
        }
        if let url = source["server.url"]?.string { found.append(url) }
        return found.compactMap { (try? WebURL($0))?.origin }.filter { !$0.isLoopback }.map(\.description)
    }

    /// The text of a setting: written down, or the default beside a variable of the environment.
    private mutating func text(_ path: String, to key: String, variable: String? = nil) -> String? {
        handled.insert(path)
        switch source[path] {
        case nil, .null?: return nil
        case .string(let text)?:
            note(.carried, path, "\(key)")
            return text
        case .environment(let names, let fallback)?:
            let remedy = variable.map { variable in
                names == [variable]
                    ? "\(variable), when it is set, goes over it here too"
                    : "set \(variable) where \(names.joined(separator: " or ")) was set: it goes over the file"
            }
            guard let text = fallback?.string, !text.isEmpty else {
                note(
                    .look, path, "comes from \(names.joined(separator: ", ")) alone; a proposal stands in \(key)",
                    do: remedy ?? "write the value into nacre.json")
                return nil
            }
            note(.carried, path, "\(key), the default beside \(names.joined(separator: ", "))", do: remedy)
            return text
        case let other?:
            note(.lost, path, Self.unreadable(other), do: "correct \(key) in nacre.json")
            return nil
        }
    }

    private static func unreadable(_ value: ScriptValue) -> String {
        guard case .unreadable(let part) = value else { return "is not a text" }
        return "is decided when the file runs (\(part.text)), and it is only read"
    }

    // MARK: One key of nacre.json each

    mutating func bundle(_ files: some ProjectFiles) -> String {
        let written = text("webDir", to: "bundle.path")
        if let written {
            if let path = BundleFinder.normal(written) { return path }
            notes.removeLast()
            note(
                .look, "webDir", "\(written) does not lie beside nacre.json, where bundle.path must be",
                do: "run nacre init in the folder that holds both, or build into a folder here")
        }
        if let found = BundleFinder.find(files) {
            if written == nil { note(.look, "bundle.path", "\(found) holds an index.html: is it the built bundle?") }
            return found
        }
        if written == nil {
            note(.look, "bundle.path", "no built bundle was found", do: "build it, then correct the path")
        }
        return "dist"
    }

    mutating func name(_ names: ProjectNames) -> String {
        if let name = text("appName", to: "app.name", variable: "MOBILE_APP_NAME"), !name.isEmpty { return name }
        let (name, place) = names.name
        note(.look, "app.name", "\"\(name)\" is \(place)", do: "correct it if people know the app by another name")
        return name
    }

    mutating func id(_ names: ProjectNames) -> String {
        if let id = text("appId", to: "app.id", variable: "MOBILE_APP_ID") {
            if ProjectNames.isID(id) { return id }
            notes.removeLast()
            note(.look, "appId", "is no reverse-DNS name such as org.example.messages, so \(names.id) stands there")
            return names.id
        }
        note(
            .look, "app.id", "\(names.id) is proposed",
            do: "correct it before the first release: the app's data hangs on it")
        return names.id
    }

    mutating func version(_ names: ProjectNames) -> String {
        if let version = text("appVersion", to: "app.version"), !version.isEmpty { return version }
        if let version = names.version {
            note(.carried, "package.json: version", "app.version")
            return version
        }
        note(.look, "app.version", "no version was found, so 0.1.0 stands there", do: "correct it before a release")
        return "0.1.0"
    }

    /// A scheme of the app's own (RFC 8252 section 7.1 wants the reverse-DNS name).
    mutating func scheme(for id: String) -> String {
        if let set = environment["MOBILE_AUTH_SCHEME"], !set.isEmpty, LinkScheme.fault(set) == nil {
            note(
                .carried, "MOBILE_AUTH_SCHEME", "app.scheme",
                do: "the server must allow it (MOBILE_AUTH_CALLBACK_SCHEMES)")
            return set
        }
        let lower = String(id.lowercased().map { $0 == "_" ? "-" : $0 })
        let scheme = LinkScheme.fault(lower) == nil ? lower : "app." + lower
        note(
            .look, "app.scheme", "\(scheme) is proposed from the id: links of the app and the way back from sign-in",
            do: "write the one the app has already, if any, and allow it at the server (MOBILE_AUTH_CALLBACK_SCHEMES)")
        return scheme
    }

    /// The page's origin: same-site with the backend where it can be (design, "The page channel").
    ///
    /// - Parameter api: nil where a person chooses the backend, and no name can be under it.
    mutating func origin(for api: Origin?) -> String {
        for path in ["server.hostname", "server.androidScheme", "server.iosScheme"] { handled.insert(path) }
        let under = api.flatMap { api in
            PublicSuffix.registrableDomain(api.host).map { _ in
                Origin(scheme: "https", host: "app." + api.host, port: 443)
            }
        }
        let proposed = under ?? Origin(scheme: "https", host: "localhost", port: 443)
        let host = source["server.hostname"]?.string
        let old = host.flatMap { try? Origin("https://" + $0) }
        let isSameSite = api.flatMap { api in
            old.map { old in
                let secure = Origin(scheme: "https", host: api.host, port: 443)
                return old.host != api.host && PublicSuffix.isSameSite(old, secure)
            }
        }
        if let host, let old, old == proposed || isSameSite == true {
            note(.carried, "server.hostname", "app.origin, as https://\(host)")
            return old.description
        }
        if let host = source["server.hostname"] {
            let reason =
                old == nil
                ? (host.string == nil ? Self.unreadable(host) : "is no host name")
                : old?.host == api?.host
                    ? "is the backend's own host, which the page must not hide" : "is another site than the backend"
            note(.lost, "server.hostname", "\(reason); app.origin is \(proposed)", do: Self.moved)
        }
        for path in ["server.androidScheme", "server.iosScheme"] {
            guard let scheme = source[path] else { continue }
            if scheme.string == "https" {
                note(.needless, path, "the page is always served by https")
            } else {
                note(.lost, path, "the page is always served by https; app.origin is \(proposed)", do: Self.moved)
            }
        }
        note(
            .look, "app.origin",
            proposed == under
                ? "\(proposed) is one site with the backend, so that the browser itself tells the page from foreign frames"
                : "\(proposed), since \(api?.host ?? "a server that a person chooses") can have no name under it",
            do: "keep it after the first release: the page's storage hangs on it")
        return proposed.description
    }

    private static let moved =
        "what the page stored under its old origin is not found under another one: let it be fetched again"

    mutating func publicKey() -> String? {
        let path = "plugins.CapacitorUpdater.publicKey"
        let name = "MOBILE_OTA_SIGNING_PUBLIC_KEY_B64"
        guard let value = source[path] else { return nil }
        handled.insert(path)
        if let key = value.string {
            guard !key.contains("PRIVATE KEY") else {  // guard: init-private-key
                note(
                    .lost, path, "is a private key, which no app may hold: everybody who has the app has it",
                    do: "take it out, make a new pair, and give the public half alone")
                return nil
            }
            note(.carried, path, "updates.publicKey")
            return key
        }
        guard value.variables.contains(name) else {
            note(.lost, path, Self.unreadable(value), do: "write the key into nacre.json as updates.publicKey")
            return nil
        }
        if let set = environment[name], let bytes = Base64.decode(set),
            let key = String(validating: bytes, as: UTF8.self),
            key.contains("PUBLIC KEY-----")
        {
            note(.carried, path, "updates.publicKey, from \(name)")
            return key
        }
        note(.lost, path, "comes from \(name), which is not set here", do: "set \(name) and run nacre init again")
        return nil
    }

    // MARK: All others

    mutating func rest(plugins: Set<String>) {
        include(plugins)
        for (path, value) in source.settings where !path.isEmpty && !handled.contains(path) {
            if path == "server.url" || (path == "server" && value.variables.contains("MOBILE_DEV_SERVER_URL")) {
                developmentServer(path, value)
            } else if case .unreadable(let part) = value, path.contains("...") || path.hasSuffix(part.text) {
                undecided(path, part)
            } else {
                let rule = SettingRules.note(for: path, plugins: plugins)
                if case .unreadable(let part) = value, rule.remedy == nil, rule.kind == .lost {
                    undecided(path, part)
                } else {
                    notes.append(rule)
                }
            }
        }
    }

    private mutating func undecided(_ path: String, _ part: ScriptValue.Unreadable) {
        let variables = part.variables.isEmpty ? "" : " (it looks at \(part.variables.joined(separator: ", ")))"
        note(
            .lost, path, "is decided when the file runs, and it is only read\(variables)",
            do: "write what it comes to into nacre.json, where that has a key for it")
    }

    private mutating func developmentServer(_ path: String, _ value: ScriptValue) {
        let names = value.variables.filter { $0 != "MOBILE_DEV_SERVER_URL" }
        let instead = names.isEmpty ? "" : " (instead of \(names.joined(separator: ", ")))"
        note(
            .lost, path, "a release runs the bundle that it ships (NB-8, SH-2)",
            do: "in development: nacre run --dev-server URL, or MOBILE_DEV_SERVER_URL\(instead)")
    }

    private mutating func include(_ plugins: Set<String>) {
        for path in ["includePlugins", "android.includePlugins", "ios.includePlugins"] {
            guard let value = source[path] else { continue }
            handled.insert(path)
            guard case .array(let items) = value else {
                note(.lost, path, Self.unreadable(value), do: "nothing, if the page uses none of the others")
                continue
            }
            let names = items.compactMap(\.string)
            let lacking = names.filter { name in
                PackageDependencies.plugin(of: name).map { !plugins.contains($0) } ?? true
            }
            if lacking.isEmpty {
                note(.needless, path, "Nacre has all of these, and its plugins are always there")
            } else {
                note(
                    .lost, path, "Nacre has no plugin for \(lacking.joined(separator: ", "))",
                    do: "let the page go without: their calls are refused with UNIMPLEMENTED")
            }
        }
    }
}
