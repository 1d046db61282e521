// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import Testing

@testable import NacreReleases

/// One object that is read of a release, by itself or inside of another, and for each member the values besides its own that
/// are taken. Every other value of `FieldCase.values` is refused.
struct FieldTable: Sendable, CustomTestStringConvertible {
    let name: String
    /// Where the object stands in the whole statement.
    let path: [Step]
    let taken: [String: Set<String>]
    let statement: @Sendable (Publisher) throws -> JSONValue
    let read: @Sendable (Publisher, [UInt8]) throws -> Void
    var testDescription: String { name }

    enum Step: Sendable {
        case member(String)
        case item(Int)
    }

    init(
        _ name: String, _ path: [Step] = [], _ taken: [String: Set<String>],
        of statement: @escaping @Sendable (Publisher) throws -> JSONValue,
        read: @escaping @Sendable (Publisher, [UInt8]) throws -> Void
    ) {
        (self.name, self.path, self.taken, self.statement, self.read) = (name, path, taken, statement, read)
    }
}

enum FieldCase {
    /// What stands in a member's place; nil for nothing.
    static let values: [(name: String, value: JSONValue?)] = [
        ("missing", nil), ("null", .null), ("true", true), ("one", 1), ("zero", 0), ("negative", -1),
        ("fraction", .number(0.5)), ("2^53", .integer(1 << 53)), ("2^63-1", .integer(.max)), ("1e300", .number(1e300)),
        ("text", "x"), ("empty", ""), ("control", "a\u{1}"), ("huge", .string(String(repeating: "x", count: 5000))),
        ("list", []), ("list of text", ["x"]), ("long list", .array(Array(repeating: "x", count: 300))),
        ("object", [:]),
    ]

    /// `whole` with the object at `path` changed.
    static func changed(
        _ whole: JSONValue, _ path: ArraySlice<FieldTable.Step>, _ change: (JSONValue) -> JSONValue
    ) -> JSONValue {
        switch path.first {
        case .member(let name):
            var members = whole.object ?? [:]
            members[name] = Self.changed(members[name] ?? .null, path.dropFirst(), change)
            return .object(members)
        case .item(let index):
            var items = whole.array ?? []
            items[index] = Self.changed(items[index], path.dropFirst(), change)
            return .array(items)
        case nil: return change(whole)
        }
    }
}

@Suite("Every member of what is signed (UP-3, UP-4)")
struct StatementFieldTests {
    private let publisher = try! Publisher()

    private static let optional: Set<String> = ["missing", "null"]
    private static let flag = optional.union(["true"])
    private static let number: Set<String> = ["one", "zero"]
    private static let text: Set<String> = ["text"]

    private static let payload: @Sendable (Publisher) throws -> JSONValue = {
        try JSONParser.parse($0.payload { $0.revoked = [TreeDigest(of: bytes("bad"))] }.bytes)
    }
    private static let readPayload: @Sendable (Publisher, [UInt8]) throws -> Void = {
        _ = try ReleasePayload(bytes: $1)
    }
    private static let manifest: @Sendable (Publisher) throws -> JSONValue = {
        try JSONParser.parse($0.manifest($0.payload()).bytes)
    }
    private static let readManifest: @Sendable (Publisher, [UInt8]) throws -> Void = {
        _ = try ReleaseManifest(bytes: $1)
    }

    static let tables: [FieldTable] = [
        FieldTable(
            "manifest", [],
            [
                "version": text, "url": text, "checksum": optional.union(["text", "empty"]),
                "sessionKey": optional.union(["text", "empty"]), "sequence": optional.union(number),
                "publishedAt": optional.union(["text", "empty"]), "nacre": optional,
            ], of: manifest, read: readManifest),
        FieldTable(
            "envelope", [.member("nacre")], ["payload": ["empty", "huge"], "signatures": []], of: manifest,
            read: readManifest),
        FieldTable(
            "signature", [.member("nacre"), .member("signatures"), .item(0)],
            // An algorithm of later days may have signatures and keys of its own; they count for nothing here.
            [
                "key": ["text", "empty", "control", "huge"], "alg": ["text", "empty", "control", "huge"],
                "sig": ["empty", "huge"],
            ],
            of: manifest, read: readManifest),
        FieldTable(
            "payload", [],
            [
                "spec": ["one"], "app": text, "channel": text, "platforms": optional.union(["list", "list of text"]),
                "sequence": ["one"], "keyEpoch": number, "storageEpoch": number, "resetStorage": flag, "version": text,
                "stamp": optional.union(text),
                "issued": number, "expires": number, "native": ["object"], "rollout": [],
                "rollbackOf": optional.union(number), "tree": [], "archive": [], "objects": flag,
                "patches": optional.union(["list"]), "revoked": optional.union(["list"]),
            ], of: payload, read: readPayload),
        FieldTable(
            "payload.native", [.member("native")], ["min": optional, "below": optional], of: payload, read: readPayload),
        FieldTable(
            "payload.rollout", [.member("rollout")], ["basisPoints": number, "salt": optional.union(text)], of: payload,
            read: readPayload),
        FieldTable(
            "payload.tree", [.member("tree")], ["sha256": [], "files": number, "bytes": number, "listBytes": number],
            of: payload, read: readPayload),
        FieldTable(
            "payload.archive", [.member("archive")], ["sha256": [], "size": number], of: payload, read: readPayload),
        FieldTable(
            "payload.patches", [.member("patches"), .item(0)],
            ["alg": text, "base": [], "sha256": [], "size": number], of: payload, read: readPayload),
        FieldTable(
            "key set", [],
            [
                "spec": ["one"], "app": text, "epoch": ["one"], "issued": number, "expires": number,
                "threshold": ["one"], "roots": [], "release": [], "freshness": optional.union(["list"]),
            ], of: { try JSONParser.parse($0.keySet().bytes) }, read: { _ = try ReleaseKeySet(bytes: $1) }),
        FieldTable(
            "freshness statement", [],
            ["app": text, "channel": text, "release": [], "sequence": number, "expires": number],
            of: { publisher in
                let statement = FreshnessStatement(
                    app: "org.example.app", channel: "production", release: TreeDigest(of: bytes("payload")),
                    sequence: 7, expires: publisher.now)
                return try JSONParser.parse(statement.bytes)
            },
            read: { publisher, bytes in
                let envelope = try SignedEnvelope(signing: bytes, for: .freshness, with: [publisher.freshness])
                _ = try FreshnessStatement(envelope, keys: publisher.keySet())
            }),
    ]

    private func object(_ table: FieldTable, in whole: JSONValue) throws -> [String: JSONValue] {
        var seen: JSONValue = .null
        _ = FieldCase.changed(whole, table.path[...]) {
            seen = $0
            return $0
        }
        return try #require(seen.object)
    }

    @Test("UP-4: a member that is missing, of another type, out of range or huge is refused", arguments: tables)
    func faults(table: FieldTable) throws {
        let whole = try table.statement(publisher)
        let members = try object(table, in: whole)
        #expect(Set(members.keys) == Set(table.taken.keys), "the table names every member")
        #expect(throws: Never.self) { try table.read(publisher, whole.bytes) }
        for name in members.keys {
            for (what, value) in FieldCase.values {
                var changed = members
                changed[name] = value
                let bytes = FieldCase.changed(whole, table.path[...]) { _ in .object(changed) }.bytes
                var fault: NacreError?
                do { try table.read(publisher, bytes) } catch { fault = error as? NacreError }
                #expect((fault == nil) == (table.taken[name]?.contains(what) == true), "\(name): \(what)")
                if let fault { #expect(fault.code.rawValue.hasPrefix("release."), "\(name): \(what): \(fault)") }
            }
        }
    }

    @Test("UP-4: a member that stands twice is refused, even with the same value", arguments: tables)
    func twice(table: FieldTable) throws {
        let whole = try table.statement(publisher)
        let members = try object(table, in: whole)
        let text = JSONValue.object(members).text
        let all = String(decoding: whole.bytes, as: UTF8.self)
        #expect(all.contains(text))
        for (name, value) in members {
            let doubled = all.replacing(text, with: "{\"\(name)\":\(value.text)," + text.dropFirst())
            #expect(throws: NacreError.self, "\(name)") { try table.read(publisher, bytes(doubled)) }
        }
    }

    @Test("UP-5: each byte of a small manifest flipped: its bundle is the signed one, or there is none")
    func flippedSeal() throws {
        let key = try PrivateKey.generateRSA2048()
        let digest = TreeDigest(of: bytes("the archive"))
        let seal = try SourceSystemSeal.make(for: digest, with: key, random: SystemRandom()).seal
        let original = ReleaseManifest(
            version: "1.4.2", url: "https://b.example/x.zip", seal: seal, sequence: 7, publishedAt: nil)
        let device = try publisher.device { ($0.roots, $0.keySet) = (nil, nil) }
        var opened = 0
        for index in original.bytes.indices {
            var changed = original.bytes
            changed[index] ^= [0x01, 0x20, 0x80][index % 3]
            guard let offer = try? device.judge(changed, from: manifestURL) else { continue }
            #expect(offer.manifest.url.hasPrefix("https://"))
            guard let contents = try? offer.manifest.seal.open(with: key.publicKey) else { continue }
            opened += 1
            #expect(contents.digest == digest)
            // Known again, whatever else was changed: a failed release is not offered under another spelling.
            #expect(offer.identity == .checksum(seal.checksum))
        }
        // A changed version, address or sequence is what the source system's format leaves open.
        #expect(opened > 0)
    }
}
