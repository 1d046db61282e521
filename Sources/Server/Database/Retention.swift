// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore

/// Rows that nobody needs any more, and how to find them.
package struct RetentionRule: Sendable {
    /// The table.
    package let table: String
    /// A column that names one row.
    package let key: String
    /// What is true of a row that may go; `$1` is the moment that is given.
    package let condition: String

    package init(_ table: String, key: String, where condition: String) {
        self.table = table
        self.key = key
        self.condition = condition
    }
}

extension Database {
    /// Removes what the rule says, a batch per transaction, so that a long neglected table does not hold everybody up.
    ///
    /// - Returns: how many rows went.
    @discardableResult
    package func remove(_ rule: RetentionRule, _ moment: Instant, batch: Int = 500) async throws -> Int {
        let statement = """
            DELETE FROM \(rule.table) WHERE \(rule.key) IN
                (SELECT \(rule.key) FROM \(rule.table) WHERE \(rule.condition) LIMIT \(batch))
            """
        var removed = 0
        while true {
            try Task.checkCancellation()
            let count = try await write { sql in try sql.execute(statement, [SQLValue(moment)]) }
            removed += count
            guard count >= batch else { return removed }
        }
    }
}
