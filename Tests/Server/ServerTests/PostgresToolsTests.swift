// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreTesting
import Testing

@testable import NacreServer

/// What PostgreSQL's tools are started with, told by programs of their names.
@Suite struct PostgresToolsTests {
    private final class Folder: Sendable {
        let path = NSTemporaryDirectory() + "nacre-tools-\(UUID().uuidString)"

        /// Programs that write down what they are given, then do `then`.
        init(then: String = "exit 0") throws {
            try FileManager.default.createDirectory(atPath: path + "/scratch", withIntermediateDirectories: true)
            for name in ["pg_dump", "pg_restore"] {
                let script = """
                    #!/bin/sh
                    printf '%s\\n' "$@" > \(path)/arguments
                    env > \(path)/environment
                    if [ -n "$PGSERVICEFILE" ]; then
                        cat "$PGSERVICEFILE" > \(path)/service
                        stat -c %a "$PGSERVICEFILE" > \(path)/mode
                    fi
                    \(then)
                    """
                #expect(
                    FileManager.default.createFile(
                        atPath: path + "/" + name, contents: Data(script.utf8), attributes: [.posixPermissions: 0o755]))
            }
        }
        deinit { try? FileManager.default.removeItem(atPath: path) }

        var environment: [String: String] { ["PATH": path + ":/usr/bin:/bin", "NACRE_SECRET": "s3aling"] }

        func tools(_ url: String, _ more: [String: String] = [:]) throws -> PostgresTools {
            try PostgresTools(url, environment: environment.merging(more) { $1 }, scratch: path + "/scratch")
        }

        func text(_ name: String) throws -> String { try String(contentsOfFile: path + "/" + name, encoding: .utf8) }
    }

    @Test(
        "The tools get in as the server does, TLS included; no secret is on the command line",
        arguments: [
            ("postgres://nacre:p%40ss@db.example.org:5433/mail", "sslmode='require'"),
            ("postgres://nacre:p%40ss@db.example.org:5433/mail?sslmode=verify-full", "sslmode='verify-full'"),
            ("postgres://nacre@db.example.org:5433/mail?password=p%40ss", "sslmode='require'"),
            ("postgres://nacre:p%40ss@127.0.0.1:5433/mail", nil),
        ])
    func connection(url: String, mode: String?) throws {
        let folder = try Folder()
        for run in [
            { try folder.tools(url).dump(to: "/x") }, { try folder.tools(url).restore(from: "/x") },
        ] {
            try run()
            let arguments = try folder.text("arguments")
            #expect(!arguments.contains("p@ss") && !arguments.contains("p%40ss"))
            #expect(arguments.contains("--no-password"))
            #expect(arguments.contains("user='nacre'") && arguments.contains("port='5433'"))
            #expect(arguments.contains("dbname='mail'"))
            if let mode { #expect(arguments.contains(mode)) } else { #expect(!arguments.contains("sslmode")) }
            let environment = try folder.text("environment")
            #expect(environment.contains("PGPASSWORD=p@ss\n"))
            #expect(!environment.contains("s3aling"), "our own settings are nothing to them")
        }
    }

    @Test func `the password of a certificate's key is in a private file, which is gone afterwards`() throws {
        let url = "postgres://nacre:p%40ss@db.example.org/mail?sslkey=/k&sslcert=/c&sslpassword=k3y%20word"
        for script in ["exit 0", "exit 1"] {
            let folder = try Folder(then: script)
            if script == "exit 0" {
                try folder.tools(url).dump(to: "/x")
            } else {
                #expect(throws: NacreError.self) { try folder.tools(url).dump(to: "/x") }
            }
            let arguments = try folder.text("arguments")
            #expect(!arguments.contains("k3y") && !arguments.contains("p@ss"))
            #expect(arguments.contains("sslkey='/k'") && arguments.contains("service=nacre"))
            #expect(try !folder.text("environment").contains("k3y"))
            #expect(try folder.text("service") == "[nacre]\nsslpassword=k3y word\n")
            #expect(try folder.text("mode") == "600\n")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/scratch").isEmpty)
        }
    }

    @Test(
        "A secret that such a file cannot hold, or that would hide a service, is said",
        arguments: [
            ("postgres://db.example.org/mail?sslpassword=k3y%20", [:]),
            ("postgres://db.example.org/mail?sslpassword=k3y%0Ahost=evil", [:]),
            ("postgres://db.example.org/mail?sslpassword=k3y&service=own", [:]),
            ("postgres://db.example.org/mail?sslpassword=k3y", ["PGSERVICE": "own"]),
        ])
    func unfit(url: String, environment: [String: String]) throws {
        let folder = try Folder()
        let error = #expect(throws: NacreError.self) { try folder.tools(url, environment).dump(to: "/x") }
        #expect(error?.code == "database.url")
        #expect(error?.description.contains("k3y") == false)
    }

    @Test func `what a tool complains about is passed on without the secrets`() throws {
        let folder = try Folder(then: "echo \"pg_dump: error: no p@ss and no k3y here\" >&2; exit 1")
        let error = #expect(throws: NacreError.self) {
            try folder.tools("postgres://nacre:p%40ss@db.example.org/mail?sslpassword=k3y").dump(to: "/x")
        }
        #expect(error?.code == "postgres.tool")
        #expect(error?.message == "pg_dump failed: pg_dump: error: no ••• and no ••• here")
    }

    @Test func `a tool that is missing is named with its package`() throws {
        let tools = try PostgresTools(
            "postgres:///nacre", environment: ["PATH": "/nowhere"], scratch: NSTemporaryDirectory())
        let error = #expect(throws: NacreError.self) { try tools.dump(to: "/x") }
        #expect(error?.message.contains("postgresql-client") == true)
    }

    @Test func `tables and versions of a dump are read from what pg_restore tells`() {
        let dump = PostgresDump(
            list: """
                ;
                ; Archive created at 2026-01-01 TABLE of contents
                215; 1259 16388 TABLE public session nacre
                216; 1259 16389 TABLE public nacre_migration nacre
                3370; 0 16388 TABLE DATA public session nacre
                217; 1259 16390 SEQUENCE public session_id_seq nacre
                """,
            migrations: """
                SET client_encoding = 'UTF8';
                COPY public.nacre_migration (component, version, checksum, applied_at) FROM stdin;
                sessions\t1\taa\t0
                sessions\t12\tbb\t0
                provider\t3\tcc\t0
                \\.
                """)
        #expect(dump.tables == ["public.session", "public.nacre_migration"])
        #expect(dump.versions == ["sessions": 12, "provider": 3])
    }
}
