// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import Testing

@testable import NacreDatabase

/// What can be known of PostgreSQL without one.
@Suite struct PostgresTests {
    @Test func `a URL is read, with what a server needs where it says nothing`() throws {
        let target = try PostgresTarget(url: "postgres://nacre:p%40ss@127.0.0.1:5433/mail?application_name=x")
        #expect(target.parameters["password"] == "p@ss")
        #expect(target.parameters["port"] == "5433")
        #expect(target.parameters["dbname"] == "mail")
        #expect(target.parameters["client_encoding"] == "UTF8")
        #expect(target.parameters["connect_timeout"] == "5")
        #expect(target.parameters["application_name"] == "x")
        #expect(target.parameters["sslmode"] == nil)
        #expect(target.place == "mail at 127.0.0.1:5433")
    }

    @Test(
        "Another machine is reached over TLS unless the URL says otherwise",
        arguments: [
            ("postgres://db.example.org/nacre", "require"),
            ("postgres://127.0.0.1,db.example.org/nacre", "require"),
            ("postgres://db.example.org/nacre?sslmode=verify-full", "verify-full"),
            ("postgres://db.internal/nacre?sslmode=disable", "disable"),
            ("postgresql:///nacre?host=/run/postgresql", nil), ("postgres://localhost/nacre", nil),
        ])
    func tls(url: String, mode: String?) throws {
        #expect(try PostgresTarget(url: url).parameters["sslmode"] == mode)
    }

    @Test(
        "Where the environment names the host or a service, TLS is required as if the URL did",
        arguments: [
            ("postgres:///nacre", [:], nil), ("postgres:///nacre", ["PGHOST": "db.example.org"], "require"),
            ("postgres:///nacre", ["PGHOSTADDR": "192.0.2.1"], "require"),
            ("postgres:///nacre", ["PGSERVICE": "nacre"], "require"),
            ("postgres:///nacre?service=nacre", [:], "require"),
            ("postgres:///nacre", ["PGHOST": "db.example.org", "PGSSLMODE": "verify-full"], nil),
            ("postgres:///nacre?sslmode=verify-ca", ["PGHOST": "db.example.org"], "verify-ca"),
            ("postgres://localhost/nacre", ["PGHOST": "db.example.org"], nil),
        ] as [(String, [String: String], String?)])
    func environment(url: String, variables: [String: String], mode: String?) throws {
        #expect(try PostgresTarget(url: url, environment: { variables[$0] }).parameters["sslmode"] == mode)
    }

    @Test("The variables are those of this process") func ownEnvironment() {
        #expect(PostgresTarget.ownEnvironment("PATH")?.isEmpty == false)
        #expect(PostgresTarget.ownEnvironment("NACRE_NO_SUCH_VARIABLE") == nil)
    }

    @Test func `a connection string has everything but secrets, quoted`() throws {
        let access = PostgresAccess(
            try PostgresTarget(
                url: "postgres://na%27cre:p%40ss@db.example.org/ma%5Cil?sslpassword=k3y", environment: { _ in nil }))
        let text = access.connectionString
        #expect(text.contains(#"user='na\'cre'"#) && text.contains(#"dbname='ma\\il'"#))
        #expect(text.contains("sslmode='require'"))
        #expect(!text.contains("p@ss") && !text.contains("k3y"))
        #expect(access.password == "p@ss")
    }

    @Test(
        "A URL that cannot be read is refused without being repeated",
        arguments: [
            "postgres://nacre:s3cret%zz@host/db", "mysql://nacre:s3cret@host/db",
            "postgres://nacre:s3cret@host/db?no=1",
            "postgres://nacre:s3cret@[::1/db",
        ])
    func refused(url: String) throws {
        let error = #expect(throws: NacreError.self) { _ = try PostgresTarget(url: url) }
        #expect(error?.code == "database.url")
        #expect(error?.description.contains("s3cret") == false)
    }

    @Test func `the password is taken out of what libpq says`() throws {
        let target = try PostgresTarget(url: "postgres://nacre:s3cret@127.0.0.1/db")
        #expect(target.redacted("no entry for nacre:s3cret") == "no entry for nacre:•••")
    }

    @Test(
        "numeric in its binary form",
        arguments: [
            ([0, 0, 0, 0, 0, 0, 0, 0], SQLValue.integer(0)),
            ([0, 1, 0, 0, 0, 0, 0, 0, 0, 42], .integer(42)),
            ([0, 1, 0, 1, 0x40, 0, 0, 0, 0, 3], .integer(-30_000)),
            ([0, 2, 0, 0, 0, 0, 0, 1, 0, 2, 0x13, 0x88], .real(2.5)),
            ([0, 1, 0, 5, 0, 0, 0, 0, 0, 1], .real(1e20)),
        ] as [([UInt8], SQLValue)])
    func numeric(bytes: [UInt8], value: SQLValue) throws {
        let read = try bytes.withUnsafeBytes { try SQLValue(postgres: $0, type: PostgresType.numeric, column: "n") }
        #expect(read == value)
    }

    @Test func `whole numbers keep their sign, and a foreign type is named`() throws {
        func read(_ bytes: [UInt8], _ type: UInt32) throws -> SQLValue {
            try bytes.withUnsafeBytes { try SQLValue(postgres: $0, type: type, column: "n") }
        }
        #expect(try read([0xFF, 0xFE], PostgresType.int2) == -2)
        #expect(try read([0, 0, 1, 0], PostgresType.int4) == 256)
        #expect(try read([0x80, 0, 0, 0, 0, 0, 0, 0], PostgresType.int8) == .integer(.min))
        #expect(try read([1], PostgresType.bool) == 1)
        #expect(try read([0x3F, 0xC0, 0, 0], PostgresType.float4) == .real(1.5))
        let error = #expect(throws: NacreError.self) { _ = try read([1], 1184) }
        #expect(error?.code == "database.column")
    }

    @Test(
        "Each state of PostgreSQL has this layer's code, and only what may succeed is tried again",
        arguments: [
            ("23505", "database.unique", PostgresRemedy.none), ("23503", "database.constraint", .none),
            ("40001", "database.busy", .again), ("40P01", "database.busy", .again),
            ("53100", "database.disk_full", .none), ("25006", "database.read_only", .none),
            ("57P01", "database.unreachable", .reconnect), ("57P03", "database.unreachable", .reconnect),
            ("08006", "database.unreachable", .reconnect), ("", "database.unreachable", .reconnect),
            ("08P01", "database.statement", .none), ("0A000", "database.statement", .planAgain),
            ("57014", "database.timeout", .none), ("55P03", "database.busy", .none), ("58030", "database.io", .none),
            ("42P01", "database.statement", .none), ("22P02", "database.value", .none),
            ("XX001", "database.corrupt", .none), ("42501", "database.permission", .none),
        ])
    func states(state: String, code: String, remedy: PostgresRemedy) {
        let meaning = PostgresFault.meaning(state, reading: false)
        #expect(meaning.0.rawValue == code)
        #expect(meaning.1 == remedy)
        #expect(meaning.2.hasSuffix("."))
    }
}
