// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Dispatch
import Foundation
import NacreCore
import NacreSQLite
import NacreTesting
import Synchronization
import Testing

@Suite struct SQLiteConnectionTests {
    @Test(
        arguments: [
            .null, .integer(.min), .integer(.max), .real(0.5), .text(""), .text("é🙂\u{0}x"), .blob([]),
            .blob([0, 255]),
        ] as [SQLiteValue])
    func `a value comes back as it was stored`(value: SQLiteValue) throws {
        let connection = try SQLiteConnection(path: ":memory:")
        try connection.execute("CREATE TABLE t (v)")
        try connection.execute("INSERT INTO t VALUES ($1)", [value])
        #expect(try connection.query("SELECT v FROM t").first?["v"] == value)
    }

    @Test func `numbered parameters may repeat and come in any order`() throws {
        let connection = try SQLiteConnection(path: ":memory:")
        let row = try connection.query("SELECT $2 AS a, $1 AS b, $2 AS c", [1, 2]).first
        #expect(row?.values == [2, 1, 2])
        #expect(throws: NacreError.self) { try connection.query("SELECT $1", []) }
        #expect(throws: NacreError.self) { try connection.query("SELECT $1", [1, 2]) }
    }

    @Test func `a second statement after the first is refused`() throws {
        let connection = try SQLiteConnection(path: ":memory:")
        try expect("sqlite.statement") { try connection.query("SELECT 1; SELECT 2") }
        #expect(try connection.query("SELECT 1;\n").count == 1)
    }

    @Test func `a failing transaction leaves nothing behind`() throws {
        let connection = try SQLiteConnection(path: ":memory:")
        try connection.execute("CREATE TABLE t (v INTEGER PRIMARY KEY)")
        try expect("sqlite.unique") {
            try connection.transaction { connection in
                try connection.execute("INSERT INTO t VALUES (1)")
                try connection.execute("INSERT INTO t VALUES (1)")
            }
        }
        #expect(try connection.query("SELECT * FROM t").isEmpty)
    }

    @Test func `a full disk is said and stores nothing`() throws {
        let folder = try TemporaryFolder()
        let connection = try SQLiteConnection(path: folder.file("a.db"), options: SQLiteOptions(maximumPages: 8))
        try connection.execute("CREATE TABLE t (v)")
        try expect("sqlite.disk_full") {
            try connection.transaction { connection in
                for _ in 0..<100 {
                    try connection.execute("INSERT INTO t VALUES ($1)", [.blob(Array(repeating: 7, count: 4000))])
                }
            }
        }
        #expect(try connection.query("SELECT count(*) AS n FROM t").first?["n"] == 0)
        try connection.execute("INSERT INTO t VALUES (1)")
    }

    @Test func `a damaged file is said`() throws {
        let folder = try TemporaryFolder()
        try Data(repeating: 0x41, count: 8192).write(to: URL(fileURLWithPath: folder.file("a.db")))
        try expect("sqlite.corrupt") { _ = try SQLiteConnection(path: folder.file("a.db")) }
    }

    @Test func `a missing folder is said`() throws {
        try expect("sqlite.cannot_open") { _ = try SQLiteConnection(path: "/nowhere/a.db") }
    }

    @Test func `another writer makes it busy after the timeout`() throws {
        let folder = try TemporaryFolder()
        let first = try SQLiteConnection(path: folder.file("a.db"))
        try first.execute("CREATE TABLE t (v)")
        let options = SQLiteOptions(busyTimeout: .milliseconds(20))
        let second = try SQLiteConnection(path: folder.file("a.db"), options: options)
        try first.transaction { first in
            try first.execute("INSERT INTO t VALUES (1)")
            try expect("sqlite.busy") { try second.execute("INSERT INTO t VALUES (2)") }
        }
    }

    @Test func `many that open a new file at once all get it`() throws {
        for _ in 0..<40 {
            let folder = try TemporaryFolder()
            let failures = Mutex<[String]>([])
            DispatchQueue.concurrentPerform(iterations: 6) { _ in
                do { _ = try SQLiteConnection(path: folder.file("a.db")) } catch {
                    failures.withLock { $0.append("\(error)") }
                }
            }
            #expect(failures.withLock { $0 } == [])
        }
    }

    @Test func `whoever opens a file that another switches to WAL waits for it`() throws {
        let folder = try TemporaryFolder()
        let first = try SQLiteConnection(path: folder.file("a.db"))
        try first.execute("CREATE TABLE t (v)")
        try first.execute("PRAGMA journal_mode=DELETE")
        try first.execute("BEGIN IMMEDIATE")
        let begins = DispatchSemaphore(value: 0)
        let ends = DispatchSemaphore(value: 0)
        let failure = Mutex<String?>("not ended")
        Thread {
            begins.signal()
            let text: String?
            do {
                _ = try SQLiteConnection(path: folder.file("a.db"))
                text = nil
            } catch { text = "\(error)" }
            failure.withLock { $0 = text }
            ends.signal()
        }.start()
        begins.wait()
        Thread.sleep(forTimeInterval: 0.2)
        try first.execute("COMMIT")
        ends.wait()
        #expect(failure.withLock { $0 } == nil)
    }

    @Test func `only this user may read the file and its journal`() throws {
        let folder = try TemporaryFolder()
        let connection = try SQLiteConnection(path: folder.file("a.db"))
        try connection.execute("CREATE TABLE t (v)")
        for name in ["a.db", "a.db-wal"] {
            let mode = try FileManager.default.attributesOfItem(atPath: folder.file(name))[.posixPermissions] as? Int
            #expect(mode == 0o600, "\(name)")
        }
    }

    @Test func `a read-only connection changes nothing`() throws {
        let folder = try TemporaryFolder()
        let writer = try SQLiteConnection(path: folder.file("a.db"))
        try writer.execute("CREATE TABLE t (v)")
        let reader = try SQLiteConnection(path: folder.file("a.db"), options: SQLiteOptions(readOnly: true))
        try expect("sqlite.read_only") { try reader.execute("INSERT INTO t VALUES (1)") }
    }

    @Test func `an error never repeats a parameter`() throws {
        let connection = try SQLiteConnection(path: ":memory:")
        try connection.execute("CREATE TABLE t (v TEXT UNIQUE)")
        try connection.execute("INSERT INTO t VALUES ($1)", ["hunter2"])
        let error = #expect(throws: NacreError.self) {
            try connection.execute("INSERT INTO t VALUES ($1)", ["hunter2"])
        }
        #expect(error.map { !"\($0)".contains("hunter2") } == true)
    }
}

/// Expects an error of this code.
func expect(_ code: NacreError.Code, _ body: () throws -> Void, location: SourceLocation = #_sourceLocation) throws {
    let error = #expect(throws: NacreError.self, sourceLocation: location) { try body() }
    #expect(error?.code == code, sourceLocation: location)
}

func expect<T>(_ code: NacreError.Code, _ body: () throws -> T, location: SourceLocation = #_sourceLocation) throws {
    let error = #expect(throws: NacreError.self, sourceLocation: location) { _ = try body() }
    #expect(error?.code == code, sourceLocation: location)
}
