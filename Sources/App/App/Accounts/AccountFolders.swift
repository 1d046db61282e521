// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreHTTP

/// Where the accounts of an app keep their data.
package struct AccountFolders: Sendable {
    /// `AppFolders.root`.
    package let root: String
    /// `AppFolders.cacheRoot`.
    package let cache: String

    package init(root: String, cache: String) {
        self.root = root
        self.cache = cache
    }

    /// The app's folder as the account sees it: the choice of a server is there, too.
    package func root(of account: String) -> String { root + AppPlace.path(ofAccount: AccountBook.place(of: account)) }

    func state(_ place: AppPlace) -> String { root + place.path + "/state" }

    /// The servers that a person has chosen with this account, as they are noted for its removal.
    func servers(of account: String) -> [String] {
        let found = (try? FileManager.default.contentsOfDirectory(atPath: root(of: account) + "/servers")) ?? []
        return found.compactMap { AppPlace.server(named: $0)?.description }.sorted()
    }

    /// Every place where the account may have data.
    func places(of account: String, servers: [String]) -> [AppPlace] {
        let id = AccountBook.place(of: account)
        return [AppPlace(account: id)]
            + servers.compactMap { try? Origin($0) }.map { AppPlace(account: id, server: .chosen($0)) }
    }

    /// Whether the account has an attempt file, and where; blocks.
    func attemptFile(_ place: AppPlace) -> String? {
        let path = state(place) + "/sign-in.sqlite"
        return FileManager.default.fileExists(atPath: path) ? path : nil
    }

    /// What the end of the account's sessions needs (SE-5), as paths in its folder: which keyring has the secrets, the file
    /// that may take its place, the server, and what servers have not heard of.
    func needed(toEnd account: String, servers: [String]) -> Set<String> {
        let own = AppPlace.path(ofAccount: AccountBook.place(of: account))
        var result: Set = ["home-server.json", Self.mark]
        for place in places(of: account, servers: servers) {
            let state = (place.path + "/state/").dropFirst(own.count + 1)
            for name in ["secrets-kind", "secrets", "sign-in.sqlite", "sign-in.sqlite-wal", "sign-in.sqlite-shm"] {
                result.insert(state + name)
            }
        }
        return result
    }

    /// Deletes what the account has on disk; blocks. What lies beside it is left alone. May be called again.
    ///
    /// - Parameter spared: paths in the account's folder that stay; empty when nothing of it is to be left.
    /// - Throws: `accounts.folder`.
    func wipe(_ account: String, sparing spared: Set<String> = []) throws(NacreError) {
        let isFirst = account == AccountBook.first
        let cache = cache + AppPlace.path(ofAccount: AccountBook.place(of: account))
        for (folder, spared) in [(root(of: account), spared), (cache, Set())] {
            // The first account's folder is the app's own: other accounts lie in it, their list, and the app's updates.
            var names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            // Last, so that a removal that is cut short is known as one.
            names = names.filter { $0 != Self.mark } + [Self.mark]
            let others = ["accounts", "accounts.json", "accounts.json.new", "updates"]
            for name in names where !isFirst || !others.contains(name) {  // guard: account-wipe-own
                try Self.remove(folder + "/" + name, spared, name)
            }
            if !isFirst, spared.isEmpty { try Self.remove(folder) }
        }
    }

    /// Removes `path`, which is called `name` in `spared`, but for what that holds.
    private static func remove(_ path: String, _ spared: Set<String>, _ name: String) throws(NacreError) {
        if spared.contains(name) { return }  // guard: removal-needs
        guard spared.contains(where: { $0.hasPrefix(name + "/") }) else { return try remove(path) }
        for inner in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] {
            try remove(path + "/" + inner, spared, name + "/" + inner)
        }
    }

    // MARK: A removal that a lost list does not undo

    private static let mark = "removing"

    /// Marks the account as one that is being removed; blocks. One without a folder cannot come back.
    ///
    /// - Throws: `file.*`.
    func mark(_ account: String) throws(NacreError) {
        let folder = root(of: account)
        guard FileManager.default.fileExists(atPath: folder) else { return }
        try PrivateFile.replace(folder + "/" + Self.mark, [])
    }

    func unmark(_ account: String) {
        if isMarked(account) { try? PrivateFile.remove(root(of: account) + "/" + Self.mark) }
    }

    func isMarked(_ account: String) -> Bool {
        FileManager.default.fileExists(atPath: root(of: account) + "/" + Self.mark)
    }

    /// Whether something of the account is on disk; blocks.
    func isThere(_ account: String) -> Bool {
        let folder = root(of: account)
        guard account == AccountBook.first else { return FileManager.default.fileExists(atPath: folder) }
        return ["/state", "/web", "/files"].contains { FileManager.default.fileExists(atPath: folder + $0) }
    }

    private static func remove(_ path: String) throws(NacreError) {
        do {
            try FileManager.default.removeItem(atPath: path)
        } catch CocoaError.fileNoSuchFile {
            return
        } catch {
            throw NacreError(
                "accounts.folder", "\(path) could not be removed; check who owns it.", cause: error)
        }
    }
}
