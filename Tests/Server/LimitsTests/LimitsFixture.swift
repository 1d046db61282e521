// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreDatabase
import NacreDatabaseTesting
import NacreLimits
import NacreTesting
import Synchronization

/// Two limiters ("processes") on one database and one clock.
struct LimitsFixture {
    let time = ManualTime()
    let database: Database
    let first: SharedLimiter
    let second: SharedLimiter

    init() async throws {
        database = try await TestDatabase.make(time: time)
        first = SharedLimiter(database: database, time: time, log: .none)
        second = SharedLimiter(database: database, time: time, log: .none)
        try await first.prepare()
        try await second.prepare()
    }

    func rows() async throws -> Int64 {
        try await database.read { sql in
            try sql.first("SELECT COUNT(*) AS count FROM rate_limit")?.integer("count") ?? 0
        }
    }
}

/// A database whose writes fail with this code, and which counts the tries.
final class BrokenDatabase: DatabaseBackend {
    let dialect = SQLDialect(identifier: "INTEGER PRIMARY KEY")
    let code: NacreError.Code
    private let count = Mutex(0)
    var tries: Int { count.withLock { $0 } }

    init(_ code: NacreError.Code) { self.code = code }

    func read<Result: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Result
    ) async throws -> Result { throw NacreError(code, "gone") }

    func write<Result: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Result
    ) async throws -> Result {
        count.withLock { $0 += 1 }
        throw NacreError(code, "gone")
    }
}
