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

    /// Deletes all that the account has on disk; blocks. What lies beside it is left alone. May be called again.
    ///
    /// - Throws: `accounts.folder`.
    func wipe(_ account: String) throws(NacreError) {
        let isFirst = account == AccountBook.first
        for folder in [root(of: account), cache + AppPlace.path(ofAccount: AccountBook.place(of: account))] {
            // The first account's folder is the app's own: other accounts lie in it, their list, and the app's updates.
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            let others = ["accounts", "accounts.json", "accounts.json.new", "updates"]
            for name in names where !isFirst || !others.contains(name) {  // guard: account-wipe-own
                try Self.remove(folder + "/" + name)
            }
            if !isFirst { try Self.remove(folder) }
        }
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
