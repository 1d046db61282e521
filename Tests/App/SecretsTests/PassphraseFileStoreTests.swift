// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreCrypto
import NacrePorts
import NacreSecrets
import NacreTesting
import Testing

/// A folder of its own for each test.
final class Folder: Sendable {
    let path: String
    init() throws {
        path = FileManager.default.temporaryDirectory.path + "/nacre-secrets-" + SystemRandom().identifier()
        try PrivateFile.makeFolder(path)
    }
    deinit { try? FileManager.default.removeItem(atPath: path) }
    var file: String { path + "/secrets" }
    func permissions(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }
}

/// A person who takes their time over each question.
private actor Answers {
    private var questions: [CheckedContinuation<String?, Never>] = []
    var waiting: Int { questions.count }
    func next() async -> String? { await withCheckedContinuation { questions.append($0) } }
    func give(_ answer: String) { questions.removeFirst().resume(returning: answer) }
}

@Suite struct PassphraseFileStoreTests {
    let folder: Folder

    init() throws { folder = try Folder() }

    func store(_ passphrase: String? = "correct horse") -> PassphraseFileStore {
        PassphraseFileStore(path: folder.file, cost: .test, random: SystemRandom()) { _ in passphrase }
    }

    static func code(_ work: () async throws(NacreError) -> Void) async -> NacreError.Code? {
        do throws(NacreError) {
            try await work()
            return nil
        } catch { return error.code }
    }

    @Test("SE-1: secrets survive the process under the same passphrase")
    func survives() async throws {
        let first = store()
        #expect(await first.availability() == .locked)
        #expect(await first.unlock())
        try await first.write("session", Array("cookie".utf8))
        try await first.write("other", [0, 255])
        try await first.remove("other")
        let second = store()
        #expect(await second.unlock())
        #expect(await second.availability() == .available)
        #expect(try await second.read("session") == Array("cookie".utf8))
        #expect(try await second.read("other") == nil)
    }

    @Test("Two that ask at once open one store, and the later answer loses nothing")
    func askedTwice() async throws {
        let answers = Answers()
        let store = PassphraseFileStore(path: folder.file, cost: .test, random: SystemRandom()) { _ in
            await answers.next()
        }
        let first = Task { await store.unlock() }
        let second = Task { await store.unlock() }
        try await until { await answers.waiting >= 2 }
        await answers.give("correct horse")
        try await until { await store.availability() == .available }
        try await store.write("session", Array("cookie".utf8))
        await answers.give("another")
        #expect(await first.value)
        #expect(await second.value)
        #expect(try await store.read("session") == Array("cookie".utf8))
        #expect(await self.store().unlock())
    }

    @Test("SE-1: locked is a state: reading and writing say so, and nothing is lost")
    func locked() async throws {
        let first = store()
        _ = await first.unlock()
        try await first.write("session", [1])
        let second = store(nil)
        #expect(await second.availability() == .locked)
        #expect(await Self.code { () throws(NacreError) in _ = try await second.read("session") } == "secrets.locked")
        #expect(
            await Self.code { () throws(NacreError) in try await second.write("session", [2]) } == "secrets.locked")
        #expect(await second.unlock() == false)
        let third = store()
        _ = await third.unlock()
        #expect(try await third.read("session") == [1])
    }

    @Test("A wrong passphrase opens nothing and changes nothing")
    func wrong() async throws {
        let first = store()
        _ = await first.unlock()
        try await first.write("session", [1])
        let second = store("battery staple")
        #expect(await second.unlock() == false)
        #expect(await second.availability() == .locked)
        let third = store()
        #expect(await third.unlock())
        #expect(try await third.read("session") == [1])
    }

    @Test("Without anybody to ask there is no such store")
    func absent() async {
        let store = PassphraseFileStore(path: folder.file, cost: .test, random: SystemRandom(), ask: nil)
        #expect(await store.availability() == .absent)
        #expect(await Self.code { () throws(NacreError) in _ = try await store.read("x") } == "secrets.absent")
    }

    @Test("SE-2: a full disk is reported, and what was stored before is still there")
    func diskFull() async throws {
        let good = store()
        _ = await good.unlock()
        try await good.write("session", [1])
        let full = PassphraseFileStore(
            path: folder.file, cost: .test, random: SystemRandom(), ask: { _ in "correct horse" },
            replace: { _, _ throws(NacreError) in throw NacreError("file.disk_full", "There is no room left.") })
        #expect(await full.unlock())
        #expect(
            await Self.code { () throws(NacreError) in try await full.write("session", [2]) }
                == "secrets.write_failed")
        #expect(try await full.read("session") == [1])
    }

    @Test("SE-2: a folder that is gone is reported")
    func folderGone() async throws {
        let store = store()
        _ = await store.unlock()
        try FileManager.default.removeItem(atPath: folder.path)
        #expect(
            await Self.code { () throws(NacreError) in try await store.write("session", [2]) }
                == "secrets.write_failed")
    }

    @Test(
        "A damaged file is told apart from a locked one",
        arguments: ["", "{}", "not json", #"{"nacre":"secrets","version":1,"salt":"AA"}"#])
    func damaged(text: String) async throws {
        try PrivateFile.replace(folder.file, Array(text.utf8))
        let store = store()
        #expect(await Self.code { () throws(NacreError) in _ = try await store.read("x") } == "secrets.damaged")
        #expect(await store.unlock() == false)
    }

    @Test("A file that asks for a gigabyte of memory and more is refused")
    func greedy() async throws {
        let first = store()
        _ = await first.unlock()
        try await first.write("session", [1])
        let bytes = try #require(try PrivateFile.read(folder.file, upTo: 1 << 20))
        let text = String(decoding: bytes, as: UTF8.self).replacing("\"memory\":8192", with: "\"memory\":99999999999")
        try PrivateFile.replace(folder.file, Array(text.utf8))
        let second = store()
        #expect(await Self.code { () throws(NacreError) in _ = try await second.read("x") } == "secrets.damaged")
    }

    @Test("A changed byte in the box opens nothing")
    func altered() async throws {
        let first = store()
        _ = await first.unlock()
        try await first.write("session", [1])
        var file = try #require(try JSONParser.parse(PrivateFile.read(folder.file, upTo: 1 << 20) ?? []).object)
        var box = try #require(file["box"]?.string.flatMap { Base64URL.decode($0) })
        box[box.count - 1] ^= 1
        file["box"] = .string(Base64URL.encode(box))
        try PrivateFile.replace(folder.file, JSONValue.object(file).bytes)
        #expect(await store().unlock() == false)
    }

    @Test("The file is for its user alone, and holds no secret in clear")
    func isPrivate() async throws {
        let store = store()
        _ = await store.unlock()
        try await store.write("session", Array("sessionid=verysecret".utf8))
        #expect(try folder.permissions(folder.file) == 0o600)
        #expect(try folder.permissions(folder.path) == 0o700)
        let text = String(decoding: try PrivateFile.read(folder.file, upTo: 1 << 20) ?? [], as: UTF8.self)
        #expect(!text.contains("verysecret") && !text.contains(Base64URL.encode(Array("verysecret".utf8)).prefix(8)))
    }
}
