// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreHTTP
package import NacreReleases
package import NacreTesting
package import NacreUpdates
import Synchronization

/// A device with a bucket to follow: a folder, a clock that stands, and a window that notes what it was asked.
package final class UpdateWorld: Sendable {
    package let folder: TemporaryFolder
    package let bucket: TestBucket
    package let publisher: TestPublisher
    package let time: ManualTime
    package let window = TestWindow()
    private let held = Mutex(false)
    private let named = Mutex<UpdateSource?>(UpdateSource(manifestURL: TestPublisher.manifestURL))

    package static let builtIn: [String: [UInt8]] = [
        "index.html": Array("<!doctype html><script src=app.js></script>built in".utf8),
        "app.js": Array(String(repeating: "let builtIn = 1;\n", count: 40).utf8),
        "assets/logo.svg": Array("<svg/>".utf8),
    ]

    /// The folder of another process, with this one's bucket and clock.
    package init(at path: String, like world: UpdateWorld) {
        folder = TemporaryFolder(at: path)
        (bucket, publisher, time) = (world.bucket, world.publisher, world.time)
    }

    package init(at path: String? = nil) throws {
        folder = try path.map { TemporaryFolder(at: $0) } ?? TemporaryFolder()
        time = ManualTime()
        bucket = TestBucket()
        publisher = try TestPublisher(bucket, now: time.now)
        for (path, bytes) in Self.builtIn { try folder.write("dist/" + path, bytes) }
        try folder.write("web/db", Array("0".utf8))
        try folder.write("lost/.keep", [])
    }

    package var isHeld: Bool {
        get { held.withLock { $0 } }
        set { held.withLock { $0 = newValue } }
    }
    /// What the server says of updates.
    package var source: UpdateSource? {
        get { named.withLock { $0 } }
        set { named.withLock { $0 = newValue } }
    }

    package var folders: UpdateFolders {
        UpdateFolders(updates: folder.path + "/updates", builtIn: folder.path + "/dist", web: folder.path + "/web")
    }

    package func settings(_ change: (inout UpdateSettings) -> Void = { _ in }) throws -> UpdateSettings {
        var settings = UpdateSettings(
            app: TestPublisher.app, platform: "linux", native: try NativeVersion("1.0.0"), build: "1",
            archiveKey: publisher.archive.publicKey, roots: try publisher.roots, builtInVersion: "0.1",
            builtInSequence: 1)
        change(&settings)
        return settings
    }

    /// A start of the app.
    package func start(
        _ disk: any UpdateDisk = SystemDisk(), _ change: (inout UpdateSettings) -> Void = { _ in }
    ) async throws -> Updater {
        // As `AppFolders`, before anything else: that the folder is there says nothing of what it holds.
        try SystemDisk().makeFolder(folders.web)
        let updater = await Updater.start(
            settings: try settings(change), folders: folders,
            parts: UpdateParts(
                transport: bucket, source: { [self] () throws(NacreError) in source }, isHeld: { [self] in isHeld },
                host: window, disk: disk, time: ShortWaits(time: time), random: SeededRandom(7)), log: .none)
        window.follow { [weak updater] in await updater?.pageLeft(lastLoad: 0) }
        return updater
    }

    /// What the page finds in its storage; a number, as of a database that is raised and never lowered.
    package var stored: String? { folder.read("web/db").map { String(decoding: $0, as: UTF8.self) } }
    package func store(_ text: String) throws { try folder.write("web/db", Array(text.utf8)) }

    /// The tree that a start would serve, read file by file.
    package func tree(of bundle: BootedBundle) throws -> ReleaseTree {
        try TreeFolder(bundle.folder ?? folders.builtIn).measure()
    }

    /// Files of a release: the built-in ones with another script, and a file that is new.
    package static func files(_ version: String) -> [String: [UInt8]] {
        var files = builtIn
        files["index.html"] = Array("<!doctype html><script src=app.js></script>\(version)".utf8)
        files["app.js"] = Array((String(repeating: "let builtIn = 1;\n", count: 40) + "let v = '\(version)';").utf8)
        files["assets/\(version).css"] = Array("/* \(version) */".utf8)
        return files
    }

    package func draft(_ version: String, _ sequence: Int64) -> TestPublisher.Draft {
        TestPublisher.Draft(version, sequence, Self.files(version))
    }
}

/// Notes what the updater asks of the window.
package final class TestWindow: UpdateHost {
    private let state = Mutex<(shown: [BootedBundle], restarts: Int)>(([], 0))
    private let left = Mutex<(@Sendable () async -> Void)?>(nil)
    private let keeps = Mutex(false)

    package init() {}

    /// Whether the old page takes its time; it goes by `leave()` then.
    package var keepsPage: Bool {
        get { keeps.withLock { $0 } }
        set { keeps.withLock { $0 = newValue } }
    }

    /// Called when the old page has gone.
    func follow(_ left: @escaping @Sendable () async -> Void) { self.left.withLock { $0 = left } }
    package func leave() async { await left.withLock { $0 }?() }

    package func show(_ bundle: BootedBundle) async {
        state.withLock { $0.shown.append(bundle) }
        if !keepsPage { await leave() }
    }
    package func restart() async { state.withLock { $0.restarts += 1 } }
    package var shown: [BootedBundle] { state.withLock { $0.shown } }
    package var restarts: Int { state.withLock { $0.restarts } }
}

/// A clock that is moved by hand, but for a pause between two tries, which is over at once.
private struct ShortWaits: TimeSource {
    let time: ManualTime
    var now: Instant { time.now }
    func sleep(for duration: Duration) async throws {
        if duration > .seconds(5) { try await time.sleep(for: duration) }
    }
}
