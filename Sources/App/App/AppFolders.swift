// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore

/// Where an app keeps what is its own: XDG base directories, private to the user (SE-1).
package struct AppFolders: Sendable {
    /// Attempts, links, preferences, the passphrase store.
    package let state: String
    /// The web view's cookies and storage.
    package let web: String
    /// What may be deleted at any time.
    package let cache: String
    /// What the page keeps as files.
    package let files: String
    /// The person's own folder; empty where the environment names none.
    package let home: String
    /// The window's size.
    package var windowState: String { state + "/window" }

    /// The folders of the app `id`, made where they are missing.
    ///
    /// - Throws: `configuration.home` when the environment names no home, `file.folder`.
    package init(id: String, environment: [String: String]) throws(NacreError) {
        func base(_ name: String, _ fallback: String) throws(NacreError) -> String {
            // XDG: relative paths are to be ignored.
            if let path = environment[name], path.hasPrefix("/") { return path }
            guard let home = environment["HOME"], home.hasPrefix("/") else {
                throw NacreError(
                    "configuration.home", "HOME is not set, so there is no place for the app's data; set it.")
            }
            return home + "/" + fallback
        }
        home = environment["HOME"] ?? ""
        let data = try base("XDG_DATA_HOME", ".local/share") + "/" + id
        state = data + "/state"
        web = data + "/web"
        files = data + "/files"
        cache = try base("XDG_CACHE_HOME", ".cache") + "/" + id
        for folder in [data, state, web, files, cache] { try PrivateFile.makeFolder(folder) }
    }
}
