// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacrePage

/// What a built bundle will meet in the shell, from its files.
struct BundleSurvey {
    /// How many files and bytes of scripts are looked through.
    static let maximumFiles = 20_000
    static let maximumScriptBytes = 128 << 20

    private(set) var notes: [ProjectNote] = []
    private(set) var title: String?
    private(set) var fileCount = 0
    private let folder: String
    private let plugins: Set<String>

    /// Looks through the bundle in `folder`.
    init(_ folder: String, _ files: some ProjectFiles, plugins: Set<String>) {
        self.folder = folder
        self.plugins = plugins
        guard BundleFinder.holdsPage(folder, files) else {
            note(.look, "", "there is no index.html yet", do: "build the web app before `nacre run`")
            return
        }
        let all = walk(files)
        fileCount = all.count
        if let page = try? files.read(path("index.html"), upTo: 4 << 20) { survey(page, all) }
        survey(scripts: all.filter { $0.hasSuffix(".js") || $0.hasSuffix(".mjs") }.sorted(), files)
    }

    private func path(_ name: String) -> String { folder == "." ? name : name.isEmpty ? folder : folder + "/" + name }

    private mutating func note(_ kind: ProjectNote.Kind, _ name: String, _ reason: String, do remedy: String? = nil) {
        notes.append(ProjectNote(kind, path(name), reason, do: remedy))
    }

    /// Every file under the bundle, by its path in it.
    private func walk(_ files: some ProjectFiles) -> Set<String> {
        var found: Set<String> = []
        var open = [""]
        while let inner = open.popLast(), found.count < Self.maximumFiles, open.count < Self.maximumFiles {
            for name in files.names(in: inner.isEmpty ? folder : path(inner)) ?? [] {
                let whole = inner.isEmpty ? name : inner + "/" + name
                if !name.hasSuffix("/") {
                    found.insert(whole)
                } else if name != "node_modules/", name != ".git/" {
                    open.append(String(whole.dropLast()))
                }
            }
        }
        return found
    }

    // MARK: The page

    private mutating func survey(_ page: [UInt8], _ all: Set<String>) {
        let found = InlineScripts(page)
        title = found.title.map { $0.split(whereSeparator: \.isWhitespace).joined(separator: " ") }
        if found.hasPolicy {
            note(.needless, "index.html", "has its own Content-Security-Policy, which is kept as it is")
        } else {
            if !found.scripts.isEmpty {
                note(
                    .needless, "index.html",
                    "has \(counted(found.scripts.count, "inline script")): its policy is made with their hashes (NB-10)"
                )
            }
            if found.handlers > 0 {
                note(
                    .look, "index.html",
                    "has \(counted(found.handlers, "attribute")) with a script (such as onclick), which the made policy blocks",
                    do: "use addEventListener, or give the page a Content-Security-Policy of its own")
            }
        }
        if let base = found.base, base != "/", base != "./" {
            note(
                .look, "index.html", "is built for \(base), and the app serves it at /", do: "build it with the base /")
        }
        for reference in found.references { survey(reference, found, all) }
    }

    private mutating func survey(_ reference: InlineScripts.Reference, _ page: InlineScripts, _ all: Set<String>) {
        let address = reference.address
        if address.contains("{{") || address.contains("{%") || address.contains("<%") {
            note(
                .look, "index.html", "asks for \(address): a server fills this page in",
                do: "ship the page as the server sends it, with addresses that exist in the bundle")
            return
        }
        if let scheme = scheme(of: address) {
            if scheme == "http" {
                note(
                    .look, "index.html", "loads \(address) over cleartext, which a secure page does not",
                    do: "ship the file")
            } else if scheme == "https", reference.element == "script", !page.hasPolicy {
                note(
                    .look, "index.html",
                    "loads the script \(address), and the made policy allows the bundle's own only",
                    do: "ship the script in the bundle (SH-7)")
            }
            return
        }
        var name = String(address.prefix { $0 != "?" && $0 != "#" })
        if !name.hasPrefix("/"), let base = page.base, base.hasPrefix("/") { name = base + "/" + name }
        let parts = name.split(separator: "/").filter { $0 != "." }.map(String.init)
        guard !parts.isEmpty, parts.last?.contains(".") ?? false else { return }
        if !all.contains(parts.joined(separator: "/")), all.count < Self.maximumFiles {
            note(
                .look, "index.html", "asks for \(address), which is not in the bundle",
                do: address.hasPrefix("/")
                    ? "build it for the base / (it is served at the root of app.origin)" : "build the bundle again")
        }
    }

    /// The scheme of an absolute address, `https` for `//host/…`; nil for a path.
    private func scheme(of address: String) -> String? {
        if address.hasPrefix("//") { return "https" }
        guard let colon = address.firstIndex(of: ":"), colon != address.startIndex,
            address[..<colon].allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "+.-".contains($0)) })
        else { return nil }
        return address[..<colon].lowercased()
    }

    private func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }

    // MARK: The scripts

    private mutating func survey(scripts: [String], _ files: some ProjectFiles) {
        var found = ScriptHints()
        var left = Self.maximumScriptBytes
        for name in scripts {
            guard let bytes = try? files.read(path(name), upTo: left) else {
                note(.look, name, "is too large to be looked through")
                continue
            }
            left -= bytes.count
            found.look(through: bytes, name)
        }
        if let name = found.serviceWorker {
            note(
                .look, name,
                "registers a service worker, which the shell refuses unless the configuration opts in (SH-1)",
                do: "write \"serviceWorker\": true under \"bundle\", or leave the registration out in the app")
        }
        if let name = found.evaluation {
            note(
                .look, name, "makes code from text (eval, new Function), which the made policy blocks",
                do: "try the app; give the page a Content-Security-Policy of its own if it needs that")
        }
        let has = found.plugins.filter(plugins.contains).sorted()
        if !has.isEmpty {
            note(.needless, "", "uses \(has.joined(separator: ", ")), which Nacre has")
        }
        for name in found.plugins.subtracting(plugins).sorted() {
            note(
                .lost, "",
                "registers the plugin \(name), which Nacre does not have: its calls are refused with UNIMPLEMENTED",
                do: "let the page ask Capacitor.isPluginAvailable(\"\(name)\") first")
        }
    }
}
