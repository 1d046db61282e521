// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreDatabase
import NacreDatabaseTesting

/// A place that several pools use as several processes would.
final class SharedPlace: Sendable {
    let text: String
    private let kind: DatabaseKind

    init(_ kind: DatabaseKind) async throws {
        self.kind = kind
        text =
            kind == .postgres
            ? try await TestDatabase.place(.postgres)
            : NSTemporaryDirectory() + "nacre-shared-\(UUID().uuidString).sqlite"
    }

    /// Takes a file away; the test says when, because it may need the place longer than this value.
    func remove() {
        guard kind == .sqlite else { return }
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: text + suffix) }
    }

    /// A pool of its own.
    func open(connections: Int = 4, time: any TimeSource = SystemTime()) throws -> Database {
        try TestDatabase.open(text, connections: connections, time: time)
    }
}

/// This checkout.
let checkout: String = "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")

/// A program that runs beside the test.
final class Companion: Sendable {
    private let process: Process
    private let ended: Task<Int32, Never>

    init(_ path: String, _ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        let (stream, end) = AsyncStream<Int32>.makeStream()
        process.terminationHandler = { process in
            end.yield(process.terminationStatus)
            end.finish()
        }
        try process.run()
        self.process = process
        ended = Task {
            for await status in stream { return status }
            return -1
        }
    }

    /// Its exit status, or the signal that ended it.
    var status: Int32 { get async { await ended.value } }

    func kill() { Glibc.kill(process.processIdentifier, SIGKILL) }

    /// Runs a program to its end.
    static func run(_ path: String, _ arguments: [String]) async throws {
        let status = try await Companion(path, arguments).status
        guard status == 0 else { throw NacreError("test.companion", "\(path) \(arguments) ended with \(status).") }
    }
}
