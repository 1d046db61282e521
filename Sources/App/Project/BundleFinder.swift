// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore

/// Where a built bundle lies in a project's folder: the folder that holds its `index.html`.
enum BundleFinder {
    /// Where the usual builders put what they build.
    private static let usual = [
        "dist", "build", "www", "out", "public", "web", "dist/browser", "build/web", "build/client", ".output/public",
        "dist/spa", "dist/client", ".",
    ]

    /// A path beside `nacre.json` without dots and backslashes; nil when it leads elsewhere.
    static func normal(_ path: String) -> String? {
        guard !path.hasPrefix("/"), !path.contains(":") else { return nil }
        let parts = path.split { $0 == "/" || $0 == "\\" }.filter { $0 != "." }
        guard !parts.contains("..") else { return nil }
        return parts.isEmpty ? "." : parts.joined(separator: "/")
    }

    static func holdsPage(_ folder: String, _ files: some ProjectFiles) -> Bool {
        files.names(in: folder)?.contains("index.html") ?? false
    }

    /// The first usual folder that holds a page; Angular's `dist/NAME/browser` counts too.
    static func find(_ files: some ProjectFiles) -> String? {
        if let found = usual.dropLast().first(where: { holdsPage($0, files) }) { return found }
        for name in (files.names(in: "dist") ?? []).sorted() where name.hasSuffix("/") {
            let inner = "dist/" + name.dropLast()
            if let found = [inner, inner + "/browser"].first(where: { holdsPage($0, files) }) { return found }
        }
        return holdsPage(".", files) ? "." : nil
    }
}
