// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreCrypto
import NacreTesting
import Testing

@testable import NacreServer

@Suite struct DataFolderTests {
    private func temporary() -> String { NSTemporaryDirectory() + "nacre-data-\(UUID().uuidString)" }

    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test func `keys are made once, for this user alone, and kept`() throws {
        let path = temporary()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let folder = try DataFolder(path)
        let first = try ServerKeys(folder, random: SeededRandom(1))
        let second = try ServerKeys(try DataFolder(path), random: SeededRandom(2))
        #expect(first.sealing.bytes == second.sealing.bytes)
        #expect(first.embeddedClientSecret == second.embeddedClientSecret)
        #expect(first.identity.publicKey.pem == second.identity.publicKey.pem)
        #expect(first.sealing.bytes != first.provider)
        #expect(try mode(path) == 0o700)
        #expect(try mode(path + "/secret.key") == 0o600)
        #expect(try mode(path + "/identity.pem") == 0o600)
    }

    @Test func `a damaged key is said, never replaced`() throws {
        let path = temporary()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let folder = try DataFolder(path)
        try "short".write(toFile: path + "/secret.key", atomically: true, encoding: .utf8)
        let error = #expect(throws: NacreError.self) { _ = try ServerKeys(folder, random: SeededRandom(1)) }
        #expect(error?.code == "server.secret")
        #expect(try String(contentsOfFile: path + "/secret.key", encoding: .utf8) == "short")
    }

    @Test func `a folder that cannot be made is said`() {
        let error = #expect(throws: NacreError.self) { _ = try DataFolder("/proc/nacre") }
        #expect(error?.message.contains("NACRE_DATA") == true)
    }
}
