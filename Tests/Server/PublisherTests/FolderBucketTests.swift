// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreTesting
import Testing

@testable import NacrePublisher

@Suite("A folder as a bucket (UP-2)")
struct FolderBucketTests {
    private let folder = try! TemporaryFolder()
    private var bucket: FolderBucket {
        FolderBucket(folder.path + "/b/", threads: WorkThreads(limit: 2), random: SystemRandom())
    }

    private func bytes(_ text: String) -> BucketContent { .bytes(Array(text.utf8)) }
    private func text(_ key: String) async throws -> String? {
        try await bucket.get(key, upTo: 1000).map { String(decoding: $0.bytes, as: UTF8.self) }
    }

    @Test("What is absent is put once, and the second one hears so")
    func absent() async throws {
        #expect(try await bucket.get("a/x.json", upTo: 10) == nil)
        #expect(try await bucket.put("a/x.json", bytes("one"), .ifAbsent))
        #expect(try await !bucket.put("a/x.json", bytes("two"), .ifAbsent))
        #expect(try await text("a/x.json") == "one")
        #expect(try await bucket.size("a/x.json") == 3)
    }

    @Test("Of two that replace the same bytes, one does")
    func tag() async throws {
        _ = try await bucket.put("m.json", bytes("0"), .ifAbsent)
        let tag = try #require(try await bucket.get("m.json", upTo: 10)).tag
        let results = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 1...8 {
                group.addTask { try await bucket.put("m.json", bytes("\(number)"), .ifTag(tag)) }
            }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(results == 1)
    }

    @Test("Lists are in order, and what is half written is in none of them")
    func list() async throws {
        for key in ["c/2.json", "c/10.json", "c/d/1.json", "e.json"] {
            _ = try await bucket.put(key, bytes(key), .always)
        }
        try Data("half".utf8).write(to: URL(filePath: folder.path + "/b/c/.0123.part"))
        #expect(try await bucket.list("c/") == ["c/10.json", "c/2.json", "c/d/1.json"])
        #expect(try await bucket.list("nothing/") == [])
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.path + "/b/c")
        #expect(left.filter { $0.hasPrefix(".") } == [".0123.part"])
    }

    @Test("What is larger than it may be is not read")
    func large() async throws {
        _ = try await bucket.put("x", bytes("0123456789"), .always)
        #expect(await code { try await bucket.get("x", upTo: 9) } == "bucket.too_large")
        #expect(await code { try await bucket.download("x", to: folder.path + "/copy", upTo: 9) } == "bucket.too_large")
        #expect(try await bucket.download("x", to: folder.path + "/copy", upTo: 10))
    }

    @Test("UP-12: the folder is made once, and a second time nothing breaks")
    func prepare() async throws {
        #expect(try await bucket.prepare().first?.hasPrefix("made") == true)
        #expect(try await bucket.prepare().first?.hasPrefix("there already") == true)
    }
}
