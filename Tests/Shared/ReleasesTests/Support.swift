// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreCrypto
import NacreTesting

@testable import NacreReleases

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

func release(_ path: String, _ text: String) throws -> ReleaseFile {
    ReleaseFile(path: try ReleasePath(path), digest: TreeDigest(of: bytes(text)), size: text.utf8.count)
}

/// A publisher with its keys, and one release of its.
struct Publisher {
    let root: PrivateKey
    let release: PrivateKey
    let freshness: PrivateKey
    let now = Instant(milliseconds: 1_800_000_000_000)

    init() throws {
        root = try PrivateKey.generate(.edDSA)
        release = try PrivateKey.generate(.edDSA)
        freshness = try PrivateKey.generate(.edDSA)
    }

    var roots: RootKeys { get throws { try RootKeys([ReleaseKey(root.publicKey)]) } }

    func keySet(epoch: Int64 = 1) throws -> ReleaseKeySet {
        ReleaseKeySet(
            app: "org.example.app", epoch: epoch, issued: now, expires: now + .seconds(86_400), roots: try roots,
            release: [ReleaseKey(release.publicKey)], freshness: [ReleaseKey(freshness.publicKey)])
    }

    func payload(_ change: (inout ReleasePayload) -> Void = { _ in }) throws -> ReleasePayload {
        let tree = try ReleaseTree([try NacreReleasesTests.release("index.html", "<!doctype html>")])
        var payload = ReleasePayload(
            app: "org.example.app", channel: "production", platforms: ["linux"], sequence: 7, keyEpoch: 1,
            storageEpoch: 0, resetsStorage: false, version: "1.4.2", issued: now, expires: now + .seconds(3600),
            native: try NativeRange(minimum: "1.0", below: "2.0"), rollout: .init(), rollbackOf: nil, tree: .init(tree),
            archive: .init(digest: TreeDigest(of: bytes("zip")), size: 3), hasObjects: true,
            patches: [
                .init(
                    algorithm: TreePatch.algorithm, base: TreeDigest(of: bytes("base")),
                    object: .init(digest: TreeDigest(of: bytes("patch")), size: 5))
            ], revoked: [])
        change(&payload)
        return payload
    }

    func manifest(_ payload: ReleasePayload) throws -> ReleaseManifest {
        ReleaseManifest(
            version: payload.version, url: "https://bucket.example.org/channels/production/bundles/1.4.2.zip",
            seal: SourceSystemSeal(sessionKey: "a:b", checksum: "c"), sequence: payload.sequence,
            publishedAt: "2027-01-15T08:00:00Z",
            envelope: try SignedEnvelope(signing: payload.bytes, for: .release, with: [release]))
    }

    func device(_ change: (inout ReleaseDevice) -> Void = { _ in }) throws -> ReleaseDevice {
        var device = ReleaseDevice(
            hasArchiveKey: true, roots: try roots, keySet: try keySet(), app: "org.example.app", channel: "production",
            platform: "linux", native: try NativeVersion("1.2.0"), now: now, runningVersion: "1.0.0")
        change(&device)
        return device
    }
}

let manifestURL = "https://bucket.example.org/channels/production/manifest.json"

/// The output of a program that must succeed.
@discardableResult
func run(_ program: String, _ arguments: [String], in folder: String) throws -> [UInt8] {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [program] + arguments
    process.currentDirectoryURL = URL(filePath: folder)
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    process.standardInput = FileHandle.nullDevice
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw NacreError("test.program", "\(program) failed") }
    return Array(data)
}
