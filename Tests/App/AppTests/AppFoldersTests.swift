// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreApp
import NacreCore
import NacreTesting
import Testing

@Suite struct AppFoldersTests {
    private func withHome(_ body: (String) throws -> Void) throws {
        let home = FileManager.default.temporaryDirectory.path + "/nacre-home-" + SystemRandom().identifier()
        defer { try? FileManager.default.removeItem(atPath: home) }
        try body(home)
    }

    private func permissions(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test("SE-1: the app's folders are private, also when they were there before")
    func isPrivate() throws {
        try withHome { home in
            let open = home + "/data/org.example.a/web"
            try FileManager.default.createDirectory(
                atPath: open, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
            let folders = try AppFolders(
                id: "org.example.a", environment: ["HOME": home, "XDG_DATA_HOME": home + "/data"])
            #expect(folders.web == open)
            #expect(folders.cache == home + "/.cache/org.example.a")
            for folder in [folders.state, folders.web, folders.cache] { #expect(try permissions(folder) == 0o700) }
        }
    }

    @Test("XDG: a relative path is ignored; without a home there is a sentence")
    func relative() throws {
        try withHome { home in
            let folders = try AppFolders(id: "org.example.a", environment: ["HOME": home, "XDG_DATA_HOME": "data"])
            #expect(folders.state == home + "/.local/share/org.example.a/state")
        }
        #expect(throws: NacreError.self) { try AppFolders(id: "org.example.a", environment: [:]) }
    }

    @Test("HO-10: a hold ends with its attempt, or after 15 minutes, and a second one does not prolong it")
    func holds() async {
        let time = ManualTime()
        let holds = AttemptHolds(time: time)
        #expect(!holds.isHeld)
        await holds.hold(attempt: "a")
        await holds.hold(attempt: "b")
        await holds.release(attempt: "a")
        #expect(holds.isHeld)
        time.advance(by: .seconds(10 * 60))
        await holds.hold(attempt: "b")
        time.advance(by: .seconds(5 * 60 - 1))
        #expect(holds.isHeld)
        time.advance(by: .seconds(1))
        #expect(!holds.isHeld)
        await holds.release(attempt: "never")
    }
}
