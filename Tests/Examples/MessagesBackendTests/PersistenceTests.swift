// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreTesting
import Testing

@Suite("A mailbox in a file")
struct PersistenceTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("What was changed is still so after a restart, and nobody gets the samples twice")
    func restart() async throws {
        let file = folder.file("mail.sqlite")
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
