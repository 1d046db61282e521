// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreCrypto
import NacreTesting
import Synchronization
import Testing

@testable import NacreServer

/// Whether these tests may give files to others.
private let isRoot = geteuid() == 0

@Suite struct DataFolderTests {
    /// A place that is taken away in the end.
    private final class Place: Sendable {
        let path = NSTemporaryDirectory() + "nacre-data-\(UUID().uuidString)"
        deinit { try? FileManager.default.removeItem(atPath: path) }

        func file(_ name: String) -> String { path + "/" + name }
    }

    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    private func owner(_ path: String) throws -> Int? {
        (try FileManager.default.attributesOfItem(atPath: path)[.ownerAccountID] as? NSNumber)?.intValue
    }

    private func make(_ path: String, _ text: String = "x", mode: Int = 0o600) {
        #expect(
            FileManager.default.createFile(
                atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: mode]))
        chmod(path, mode_t(mode))
    }

    @Test func `keys are made once, for this user alone, and kept`() throws {
        let place = Place()
        let first = try ServerKeys(try DataFolder(place.path), random: SeededRandom(1))
        let second = try ServerKeys(try DataFolder(place.path), random: SeededRandom(2))
        #expect(first.sealing.bytes == second.sealing.bytes)
        #expect(first.embeddedClientSecret == second.embeddedClientSecret)
        #expect(first.identity.publicKey.pem == second.identity.publicKey.pem)
        #expect(first.sealing.bytes != first.provider)
        #expect(try mode(place.path) == 0o700)
        #expect(try mode(place.file("secret.key")) == 0o600)
        #expect(try mode(place.file("identity.pem")) == 0o600)
    }

    @Test func `a damaged key is said, never replaced`() throws {
        let place = Place()
        let folder = try DataFolder(place.path)
        make(place.file("secret.key"), "short")
        let error = #expect(throws: NacreError.self) { _ = try ServerKeys(folder, random: SeededRandom(1)) }
        #expect(error?.code == "server.secret")
        #expect(try String(contentsOfFile: place.file("secret.key"), encoding: .utf8) == "short")
    }

    @Test func `a folder that cannot be made is said`() {
        let error = #expect(throws: NacreError.self) { _ = try DataFolder("/proc/nacre") }
        #expect(error?.message.contains("NACRE_DATA") == true)
    }

    @Test("A folder that others may enter is closed to them", arguments: [0o755, 0o750, 0o701, 0o777])
    func folderMode(_ wide: Int) throws {
        let place = Place()
        try FileManager.default.createDirectory(atPath: place.path, withIntermediateDirectories: true)
        chmod(place.path, mode_t(wide))
        _ = try DataFolder(place.path)
        #expect(try mode(place.path) == 0o700)
    }

    @Test func `files that others may read are closed to them; what a link leads to is not touched`() throws {
        let (place, elsewhere) = (Place(), Place())
        _ = try (DataFolder(place.path), DataFolder(elsewhere.path))
        make(place.file("gateway.sqlite"), mode: 0o644)
        make(elsewhere.file("public"), mode: 0o644)
        make(elsewhere.file("twice"), mode: 0o644)
        try FileManager.default.createSymbolicLink(
            atPath: place.file("link"), withDestinationPath: elsewhere.file("public"))
        try FileManager.default.linkItem(atPath: elsewhere.file("twice"), toPath: place.file("second-name"))
        _ = try DataFolder(place.path)
        #expect(try mode(place.file("gateway.sqlite")) == 0o600)
        #expect(try mode(elsewhere.file("public")) == 0o644)
        #expect(try mode(elsewhere.file("twice")) == 0o644)
    }

    @Test func `a key that is a link, or no file at all, is refused`() throws {
        let (place, elsewhere) = (Place(), Place())
        let folder = try DataFolder(place.path)
        _ = try DataFolder(elsewhere.path)
        make(elsewhere.file("known"), SeededRandom(3).token())
        try FileManager.default.createSymbolicLink(
            atPath: place.file("secret.key"), withDestinationPath: elsewhere.file("known"))
        let link = #expect(throws: NacreError.self) { _ = try ServerKeys(folder, random: SeededRandom(1)) }
        #expect(link?.code == "server.data")
        #expect(link?.message.contains("is a link") == true)
        try FileManager.default.removeItem(atPath: place.file("secret.key"))
        #expect(mkfifo(place.file("secret.key"), 0o600) == 0)
        let pipe = #expect(throws: NacreError.self) { _ = try ServerKeys(folder, random: SeededRandom(1)) }
        #expect(pipe?.code == "server.data")
    }

    @Test func `of many that start at once one makes the key, and all have that one`() async throws {
        let place = Place()
        let folder = try DataFolder(place.path)
        let texts = Mutex<[String]>([])
        let ended = AsyncStream<Void>.makeStream()
        for number in 0..<8 {
            Thread.detachNewThread {
                let text = try? folder.secret("secret.key") {
                    // So long that all of them have seen that there is none.
                    usleep(50_000)
                    return SeededRandom(UInt64(number)).token()
                }
                texts.withLock { $0.append(text ?? "none") }
                ended.continuation.yield()
            }
        }
        var count = 0
        for await _ in ended.stream {
            count += 1
            if count == 8 { break }
        }
        let stored = try String(contentsOfFile: place.file("secret.key"), encoding: .utf8)
        #expect(texts.withLock { Set($0) } == [stored])
        #expect(try !FileManager.default.contentsOfDirectory(atPath: place.path).contains { $0.hasSuffix(".new") })
    }

    @Test func `the half of a key that a killed process left is no key, is not written through, and goes`() throws {
        let (place, elsewhere) = (Place(), Place())
        let folder = try DataFolder(place.path)
        _ = try DataFolder(elsewhere.path)
        make(elsewhere.file("target"), "untouched")
        make(place.file("secret.key.new"), "half", mode: 0o644)
        try FileManager.default.createSymbolicLink(
            atPath: place.file("identity.pem.new"), withDestinationPath: elsewhere.file("target"))
        let keys = try ServerKeys(folder, random: SeededRandom(1))
        #expect(try String(contentsOfFile: elsewhere.file("target"), encoding: .utf8) == "untouched")
        #expect(try mode(place.file("secret.key")) == 0o600)
        // Left beside a key that is there, as after a restore by hand.
        make(place.file("secret.key.new"), "half")
        let again = try ServerKeys(folder, random: SeededRandom(2))
        #expect(again.sealing.bytes == keys.sealing.bytes)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: place.path).sorted() == [
                "identity.pem", "keys.lock", "secret.key",
            ])
    }

    @Test func `a folder or a key of another user is refused, unless the process is root's`() throws {
        let place = Place()
        let folder = try DataFolder(place.path)
        _ = try ServerKeys(folder, random: SeededRandom(1))
        let stranger = geteuid() + 7
        let error = #expect(throws: NacreError.self) { _ = try DataFolder(place.path, user: stranger) }
        #expect(error?.code == "server.data")
        #expect(error?.message.contains("belongs to another user") == true)
        #expect(try DataFolder(place.path, user: 0).existing("secret.key") != nil)
    }

    @Test("A key that another user put into this user's folder is refused", .enabled(if: isRoot))
    func foreignKey() throws {
        let place = Place()
        _ = try ServerKeys(try DataFolder(place.path), random: SeededRandom(1))
        #expect(chown(place.path, 65_534, 65_534) == 0)
        #expect(chown(place.file("secret.key"), 65_533, 65_533) == 0)
        let folder = try DataFolder(place.path, user: 65_534)
        let error = #expect(throws: NacreError.self) { _ = try folder.existing("secret.key") }
        #expect(error?.message.contains("no plain file of this user") == true)
        #expect(chown(place.file("secret.key"), 65_534, 65_534) == 0)
        #expect(try folder.existing("secret.key") != nil)
    }

    @Test(
        "As root: what root made goes to the folder's owner; foreign files, links and second names do not",
        .enabled(if: isRoot))
    func giveToOwner() async throws {
        let installation = try Installation()
        let elsewhere = Place()
        _ = try DataFolder(elsewhere.path)
        let admin = try installation.administration()
        _ = try await admin.migrate()
        let data = installation.data
        make(elsewhere.file("system"))
        make(elsewhere.file("twice"))
        make(data + "/somebody's")
        try FileManager.default.createSymbolicLink(
            atPath: data + "/link", withDestinationPath: elsewhere.file("system"))
        try FileManager.default.linkItem(atPath: elsewhere.file("twice"), toPath: data + "/second-name")
        #expect(chown(data, 65_534, 65_534) == 0)
        #expect(chown(data + "/somebody's", 65_533, 65_533) == 0)
        admin.giveToOwner()
        #expect(try owner(data + "/secret.key") == 65_534)
        #expect(try owner(data + "/gateway.sqlite") == 65_534)
        #expect(try owner(data + "/somebody's") == 65_533)
        #expect(try owner(elsewhere.file("system")) == 0)
        #expect(try owner(elsewhere.file("twice")) == 0)
        var link = stat()
        #expect(lstat(data + "/link", &link) == 0 && link.st_uid == 0)
    }
}

@Suite struct ConfigurationFileTests {
    private func code(_ body: () throws -> [UInt8]?) -> String? {
        do {
            _ = try body()
            return nil
        } catch { return (error as? NacreError)?.code.rawValue }
    }

    @Test(
        "Root takes no configuration of another user's, none that others may change and none behind their link",
        .enabled(if: isRoot))
    func foreign() throws {
        let folder = NSTemporaryDirectory() + "nacre-configuration-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let path = folder + "/nacre.server.json"
        try "{}".write(toFile: path, atomically: false, encoding: .utf8)
        func take(_ path: String, isNamed: Bool = false, user: UInt32 = 0) -> String? {
            code { try ConfigurationFile.content(of: path, isNamed: isNamed, user: user) }
        }
        chmod(path, 0o640)
        #expect(take(path) == nil)
        for wide in [0o666, 0o660, 0o642] as [mode_t] {
            chmod(path, wide)
            #expect(take(path) == "configuration.owner")
        }
        chmod(path, 0o644)
        #expect(chown(path, 65_534, 65_534) == 0)
        #expect(take(path) == "configuration.owner")
        #expect(take(path, isNamed: true) == nil, "it was asked for")
        #expect(take(path, user: 65_534) == nil, "their own")
        #expect(chown(path, 0, 0) == 0)
        let link = folder + "/link.json"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        #expect(take(link) == nil)
        #expect(lchown(link, 65_534, 65_534) == 0)
        #expect(take(link) == "configuration.owner")
    }

    @Test func `a missing file is an empty one unless it was named; a folder is none`() throws {
        #expect(try ConfigurationFile.content(of: "/nowhere/nacre.server.json", isNamed: false) == nil)
        #expect(code { try ConfigurationFile.content(of: "/nowhere/n.json", isNamed: true) } == "configuration.file")
        #expect(code { try ConfigurationFile.content(of: "/tmp", isNamed: false) } == "configuration.file")
    }
}
