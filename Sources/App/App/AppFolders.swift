// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore

/// Where an app keeps what is its own: XDG base directories, private to the user (SE-1).
package struct AppFolders: Sendable {
    /// Attempts, links, preferences, the passphrase store.
    package let state: String
    /// The web view's cookies and storage. Made at each start, before the updater looks: that it is there says nothing of
    /// what it holds.
    package let web: String
    /// What may be deleted at any time.
    package let cache: String
    /// What the page keeps as files.
    package let files: String
    /// The person's own folder; empty where the environment names none.
    package let home: String
    /// The updater's: one for the app, whichever account or server is in use.
    package let updates: String
    /// The window's size.
    package var windowState: String { state + "/window" }

    /// The folders of the app `id`, made where they are missing.
    ///
    /// - Parameter place: the account and the server whose they are.
    /// - Throws: `configuration.home` when the environment names no home, `file.folder`.
    package init(
        id: String, environment: [String: String], place: AppPlace = AppPlace()
    ) throws(NacreError) {
        let root = try Self.root(id: id, environment: environment)
        // What lies between is nobody else's either.
        var between = root
        for part in place.path.split(separator: "/").dropLast() {
            between += "/" + part
            try PrivateFile.makeFolder(between)
        }
        home = environment["HOME"] ?? ""
        let data = root + place.path
        updates = root + "/updates"
        state = data + "/state"
        web = data + "/web"
        files = data + "/files"
        cache = try Self.cacheRoot(id: id, environment: environment) + place.path
        for folder in [data, state, web, files, cache] { try PrivateFile.makeFolder(folder) }
    }

    /// The folder above all of the app's, for what is known before them; made where it is missing.
    ///
    /// - Throws: as `init`.
    package static func root(id: String, environment: [String: String]) throws(NacreError) -> String {
        let folder = try base("XDG_DATA_HOME", ".local/share", environment) + "/" + id
        try PrivateFile.makeFolder(folder)
        return folder
    }

    /// The folder above all of the app's that may be deleted at any time; not made.
    ///
    /// - Throws: `configuration.home`.
    package static func cacheRoot(id: String, environment: [String: String]) throws(NacreError) -> String {
        try base("XDG_CACHE_HOME", ".cache", environment) + "/" + id
    }

    private static func base(
        _ name: String, _ fallback: String, _ environment: [String: String]
    ) throws(NacreError) -> String {
        // XDG: relative paths are to be ignored.
        if let path = environment[name], path.hasPrefix("/") { return path }
        guard let home = environment["HOME"], home.hasPrefix("/") else {
            throw NacreError("configuration.home", "HOME is not set, so there is no place for the app's data; set it.")
        }
        return home + "/" + fallback
    }
}
