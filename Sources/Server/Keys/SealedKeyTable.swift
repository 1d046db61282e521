// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreCrypto
package import NacreDatabase
import NacreJOSE

/// A table of private keys that every process of one database shares, each sealed for its own row.
///
/// Its columns are `kid`, `sealed_key`, `created_at`, one that counts rows up, and whatever its owner adds.
package struct SealedKeyTable: Sendable {
    /// One key as it stands in the table.
    package struct Row: Sendable {
        /// The key's thumbprint (RFC 7638).
        package let id: String
        package let key: PrivateKey
        package let created: Instant
        /// Every column, for those that the owner added.
        package let values: SQLRow
    }

    /// A key that is ready to be stored.
    package struct Sealed: Sendable {
        package let id: String
        let box: [UInt8]
        let created: Instant
    }

    package let database: Database
    package let name: String
    /// The column that counts rows up.
    package let counter: String
    private let sealing: SealingKey
    private let context: String
    private let refusal: (code: NacreError.Code, message: String)
    private let random: any RandomSource

    /// The table `name`. `context` and the key's identifier are what a sealed key is bound to; `refusal` is thrown for
    /// keys that were sealed with another secret.
    package init(
        _ name: String, counter: String = "id", context: String, refusal: (code: NacreError.Code, message: String),
        database: Database, sealing: SealingKey, random: any RandomSource
    ) {
        self.name = name
        self.counter = counter
        self.context = context
        self.refusal = refusal
        self.database = database
        self.sealing = sealing
        self.random = random
    }

    /// The keys in the order in which they were added; those of `known` are not opened again.
    ///
    /// - Throws: the refusal, `database.*`.
    package func read(known: [String: PrivateKey] = [:]) async throws -> [Row] {
        let (name, counter) = (name, counter)
        let rows = try await database.read { sql in try sql.query("SELECT * FROM \(name) ORDER BY \(counter)") }
        return try rows.map { row throws(NacreError) in
            let id = try row.text("kid")
            return Row(id: id, key: try key(row, id, known), created: try row.moment("created_at"), values: row)
        }
    }

    private func key(
        _ row: SQLRow, _ id: String, _ known: [String: PrivateKey]
    ) throws(NacreError) -> PrivateKey {
        if let key = known[id] { return key }
        let box = try row.blob("sealed_key")
        let text: [UInt8]
        do { text = try sealing.open(box, context: bound(id)) } catch {
            throw NacreError(refusal.code, refusal.message, cause: error)
        }
        return try PrivateKey(pem: String(decoding: text, as: UTF8.self))
    }

    /// Seals a key that was made at `created`.
    package func seal(_ key: PrivateKey, created: Instant) throws(NacreError) -> Sealed {
        let id = JSONWebKey.thumbprint(of: key.publicKey)
        return Sealed(
            id: id, box: try sealing.seal(key.pem.utf8, context: bound(id), random: random), created: created)
    }

    /// Stores a key with the columns that the owner added.
    package func insert(
        _ key: Sealed, _ more: KeyValuePairs<String, SQLValue> = [:], _ sql: any SQLConnection
    ) throws(NacreError) {
        let columns = ["kid", "sealed_key", "created_at"] + more.map(\.key)
        let places = columns.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
        try sql.execute(
            "INSERT INTO \(name) (\(columns.joined(separator: ", "))) VALUES (\(places))",
            [.text(key.id), .blob(key.box), SQLValue(key.created)] + more.map(\.value))
    }

    private func bound(_ id: String) -> [UInt8] { Array((context + id).utf8) }
}
