// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import Testing

@Suite("A mailbox in a file")
struct PersistenceTests {
    @Test("What was changed is still so after a restart, and nobody gets the samples twice")
    func restart() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("mail-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("mail.sqlite").path

        let first = try await Harness(database: file)
        let id = try await first.find("Sunday lunch")
        _ = try await first.post("threads/\(id)/flags/", #"{"starred":true,"mailbox":"archive"}"#)
        let before = try await first.json("mailboxes/")

        let second = try await Harness(database: file)
        #expect(try await second.json("mailboxes/") == before)
        #expect(try await second.find("Sunday lunch", in: "archive") == id)
        #expect(try await second.json("threads/\(id)/")["starred"] == true)
    }
}
