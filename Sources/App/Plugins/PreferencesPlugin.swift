// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreBridge
package import NacreCore
package import NacreSQLite
import Synchronization

/// Capacitor's `Preferences`: small texts under names, in groups, kept across restarts (SE-6). Not for secrets.
package final class PreferencesPlugin: BridgePlugin {
    package static let migrations = [
        SQLiteMigration(
            1,
            """
            CREATE TABLE preference (area TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
              PRIMARY KEY (area, name)) WITHOUT ROWID;
            """)
    ]
    /// Beyond this a page wants a database, not a preference.
    private static let largest = 1024 * 1024

    package let name = "Preferences"
    package let methods = ["configure", "get", "set", "remove", "keys", "clear", "migrate", "removeOld"].map {
        BridgeMethod($0)
    }
    private let store: SQLiteStore
    private let group = Mutex("CapacitorStorage")

    /// The preferences in `store`, whose file is their own.
    package init(_ store: SQLiteStore, now: Instant) async throws {
        self.store = store
        try await store.migrate(Self.migrations, now: now)
    }

    package func call(_ method: String, options: JSONValue, call: BridgeCallContext) async throws -> JSONValue {
        let area = group.withLock { $0 }
        switch method {
        case "configure":
            if let next = options["group"]?.string { group.withLock { $0 = next } }
            return .null
        case "get": return ["value": JSONValue(try await value(try key(options), in: area))]
        case "set":
            let name = try key(options)
            // Capacitor's own store takes null for a removal.
            guard let value = options["value"]?.string else {
                try await remove(name, in: area)
                return .null
            }
            try await set(name, value, in: area)
            return .null
        case "remove":
            try await remove(try key(options), in: area)
            return .null
        case "keys": return ["keys": .array(try await names(in: area).map(JSONValue.string))]
        case "clear":
            try await store.transaction { connection in
                _ = try connection.execute("DELETE FROM preference WHERE area = $1", [.text(area)])
            }
            return .null
        // There is no older storage here to take anything from.
        case "migrate": return ["migrated": [], "existing": []]
        default: return .null
        }
    }

    private func key(_ options: JSONValue) throws -> String {
        guard let key = options["key"]?.string else {
            throw BridgeRejection(code: "INVALID", message: "Must provide key.")
        }
        return key
    }

    /// The value under a name.
    package func value(_ name: String, in area: String) async throws -> String? {
        try await store.run { connection in
            try connection.query(
                "SELECT value FROM preference WHERE area = $1 AND name = $2", [.text(area), .text(name)]
            ).first?["value"].text
        }
    }

    /// Stores a value under a name.
    package func set(_ name: String, _ value: String, in area: String) async throws {
        guard name.utf8.count + value.utf8.count <= Self.largest else {  // guard: preferences-size
            throw BridgeRejection(code: "TOO_LARGE", message: "A preference has at most 1 MB; use IndexedDB.")
        }
        try await store.transaction { connection in
            _ = try connection.execute(
                "INSERT OR REPLACE INTO preference (area, name, value) VALUES ($1, $2, $3)",
                [.text(area), .text(name), .text(value)])
        }
    }

    private func remove(_ name: String, in area: String) async throws {
        try await store.transaction { connection in
            _ = try connection.execute(
                "DELETE FROM preference WHERE area = $1 AND name = $2", [.text(area), .text(name)])
        }
    }

    private func names(in area: String) async throws -> [String] {
        try await store.run { connection in
            try connection.query("SELECT name FROM preference WHERE area = $1 ORDER BY name", [.text(area)])
                .compactMap { $0["name"].text }
        }
    }
}
