// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreCrypto
import NacreHTTP
import NacreReleases
import NacreTesting
import Synchronization

@testable import NacrePublisher

let base = "https://bucket.example.org/app"

/// Keys that cost a second to make, made once.
enum TestKeys {
    static let archive = try! PrivateKey.generateRSA2048()
    static let root = try! PrivateKey.generate(.edDSA)
    static let release = try! PrivateKey.generate(.edDSA)
    static var all: PublisherKeys { PublisherKeys(archive: archive, release: release) }
    static var roots: RootKeys { get throws { try RootKeys([KeyText.releaseKey(root)]) } }
}

/// A bucket that tells what is done to it, and lets a test come between.
final class WatchedBucket: ReleaseBucket {
    struct Put: Sendable, Equatable {
        let key: String
        let bytes: [UInt8]
    }
    private struct State {
        var puts: [Put] = []
        var before: (@Sendable (_ verb: String, _ key: String) async throws -> Void)?
    }

    let inner: FolderBucket
    private let keeps: Bool
    private let state = Mutex(State())

    /// - Parameter keeps: whether conditions are kept; a store that does not takes every put.
    init(_ inner: FolderBucket, keeps: Bool = true) { (self.inner, self.keeps) = (inner, keeps) }

    var name: String { inner.name }
    var puts: [Put] { state.withLock { $0.puts } }
    func forget() { state.withLock { $0.puts = [] } }
    func before(_ hook: (@Sendable (_ verb: String, _ key: String) async throws -> Void)?) {
        state.withLock { $0.before = hook }
    }
    private func tell(_ verb: String, _ key: String) async throws {
        try await state.withLock { $0.before }?(verb, key)
    }

    func get(_ key: String, upTo limit: Int) async throws -> BucketItem? { try await inner.get(key, upTo: limit) }
    func download(_ key: String, to path: String, upTo limit: Int) async throws -> Bool {
        try await inner.download(key, to: path, upTo: limit)
    }
    func size(_ key: String) async throws -> Int? { try await inner.size(key) }
    func list(_ prefix: String) async throws -> [String] { try await inner.list(prefix) }
    func remove(_ key: String) async throws {
        try await tell("remove", key)
        try await inner.remove(key)
    }
    func keepsConditions(_ channel: String) async throws -> Bool { keeps }
    func prepare() async throws -> [String] { try await inner.prepare() }

    func put(_ key: String, _ content: BucketContent, _ condition: PutCondition) async throws -> Bool {
        try await tell("put", key)
        let bytes: [UInt8] =
            switch content {
            case .bytes(let bytes): bytes
            case .file(let path, _, _): Array(try Data(contentsOf: URL(filePath: path)))
            }
        var condition = condition
        if !keeps {
            if condition == .ifAbsent, try await inner.size(key) != nil { return false }
            condition = .always
        }
        guard try await inner.put(key, content, condition) else { return false }
        state.withLock { $0.puts.append(Put(key: key, bytes: bytes)) }
        return true
    }
}

/// The bucket's folder as a web server would serve it.
final class BucketSite: HTTPTransport {
    private let folder: String
    private let spoil: Mutex<@Sendable (String, [UInt8]) -> [UInt8]?>

    init(_ folder: String) {
        self.folder = folder
        spoil = Mutex({ @Sendable (_: String, bytes: [UInt8]) in bytes })
    }

    /// What becomes of a file on its way; nil is a 404.
    func spoil(_ change: @escaping @Sendable (_ key: String, _ bytes: [UInt8]) -> [UInt8]?) {
        spoil.withLock { $0 = change }
    }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let key = PercentEncoding.decode(request.path.dropFirst("/app/".count)) ?? ""
        guard let data = FileManager.default.contents(atPath: folder + "/" + key),
            let bytes = spoil.withLock({ $0 })(key, Array(data))
        else { return HTTPResponse(status: .notFound) }
        return HTTPResponse(status: .ok, body: .bytes(bytes))
    }
}

/// One bucket, its site, a project, and publishers for it.
struct World {
    let folder: TemporaryFolder
    let time = ManualTime()
    let threads = WorkThreads(limit: 4, waiting: 4096)
    let bucket: WatchedBucket
    let site: BucketSite
    let said = RecordedLines()

    init(keeps: Bool = true) throws {
        folder = try TemporaryFolder()
        bucket = WatchedBucket(
            FolderBucket(folder.path + "/bucket", threads: threads, random: SystemRandom()), keeps: keeps)
        site = BucketSite(folder.path + "/bucket")
    }

    /// With the first key set in its place.
    static func signed(keeps: Bool = true) async throws -> World {
        let world = try World(keeps: keeps)
        _ = try await world.publisher().put(keySet: world.keySet())
        world.bucket.forget()
        return world
    }

    func keySet(
        after previous: ReleaseKeySet? = nil, app: String = "org.example.app",
        release: [PrivateKey] = [TestKeys.release],
        signedBy roots: [PrivateKey] = [TestKeys.root], days: Int64 = 400
    ) throws -> SignedEnvelope {
        var wish = KeyCeremony.Wish(app: app, release: try release.map { try KeyText.releaseKey($0) })
        wish.lifetime = .seconds(days * 86_400)
        return try KeyCeremony.make(wish, after: previous, signedBy: roots, now: time.now)
    }

    func publisher(
        keys: PublisherKeys? = TestKeys.all, channel: String = "prod", app: String = "org.example.app",
        roots: [PrivateKey] = [TestKeys.root], readsBucket: Bool = false
    ) throws -> ReleasePublisher {
        let said = said
        return try ReleasePublisher(
            app: app, channel: channel, bucket: bucket,
            source: readsBucket
                ? BucketSource(bucket)
                : PublicSource(base: base, transport: site, time: time, random: SeededRandom()),
            publicBase: base, keys: keys,
            roots: roots.isEmpty ? nil : try RootKeys(roots.map { try KeyText.releaseKey($0) }), time: time,
            random: SystemRandom(), threads: threads,
            workParent: folder.path, report: PublishReport(say: { said.add($0) }))
    }

    /// A folder of files such as a build writes.
    func web(_ files: [String: String]) throws -> String {
        let path = folder.path + "/web-" + SystemRandom().identifier()
        for (name, text) in files {
            let file = path + "/" + name
            try FileManager.default.createDirectory(
                atPath: (file as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
            try Data(text.utf8).write(to: URL(filePath: file))
        }
        return path
    }

    /// A build that differs from others by `change` only.
    func build(_ change: String) throws -> String {
        let long = (0..<400).map { "export const value\($0) = \($0 &* 7919 % 1009);" }.joined(separator: "\n")
        return try web([
            "index.html": "<!doctype html><p>\(change)", "assets/app-0123abcd.js": long, "assets/empty.txt": "",
            "assets/change.js": "export default '\(change)'",
        ])
    }

    @discardableResult
    func publish(
        _ version: String, _ change: String? = nil, by publisher: ReleasePublisher? = nil,
        _ adjust: (inout PublishRequest) -> Void = { _ in }
    ) async throws -> PublishOutcome {
        var request = PublishRequest(folder: try build(change ?? version), version: version)
        request.effort = .fast
        adjust(&request)
        let publisher = if let publisher { publisher } else { try self.publisher() }
        return try await publisher.publish(request)
    }

    func manifest(_ channel: String = "prod") async throws -> ReleaseManifest? {
        try await bucket.get(ReleaseStore.manifest(channel), upTo: 1_000_000).map {
            try ReleaseManifest(bytes: $0.bytes)
        }
    }

    func payload() async throws -> ReleasePayload? {
        try await manifest()?.envelope.map { try ReleasePayload(bytes: $0.payload) }
    }

    var trust: AppTrust { get throws { AppTrust(roots: try TestKeys.roots, archiveKey: TestKeys.archive.publicKey) } }

    /// Whether a device can follow the channel by every way.
    func faults(builtIns: [String] = []) async throws -> [String] {
        try await publisher().verify(trust, builtIns: builtIns, previous: 3, platform: "linux").compactMap(\.fault)
    }
}

final class RecordedLines: Sendable {
    private let lines = Mutex<[String]>([])
    func add(_ line: String) { lines.withLock { $0.append(line) } }
    var text: String { lines.withLock { $0.joined(separator: "\n") } }
}

/// The code of the error that `body` throws.
func code(_ body: () async throws -> some Any) async -> String? {
    do {
        _ = try await body()
        return nil
    } catch { return (error as? NacreError)?.code.rawValue ?? "\(error)" }
}
