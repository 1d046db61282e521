// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreReleases

/// The one file of the updater's state: checked by a digest of its own, with the copy before it kept beside it.
package struct UpdateStateFile: Sendable {
    private let disk: any UpdateDisk
    private let path: String
    private var previous: String { path + ".previous" }
    /// Far more than the lists in it can come to.
    private static let limit = 4 << 20

    init(_ folder: String, _ disk: any UpdateDisk) {
        self.disk = disk
        path = folder + "/state.json"
    }

    /// What was kept last; the copy before it where that is damaged; nil where there is neither.
    func load() -> UpdateState? { Self.parse(read(path)) ?? Self.parse(read(previous)) }

    /// Keeps the state: on the disk when this returns.
    ///
    /// - Throws: `file.*`; then what was kept before still holds.
    func keep(_ state: UpdateState) throws(NacreError) {
        let bytes = Self.bytes(of: state)
        // A damaged file is no copy to fall back to, and must not take the place of a good one.
        if let now = read(path), Self.parse(now) != nil { try disk.replace(previous, now) }
        try disk.replace(path, bytes)
    }

    private func read(_ path: String) -> [UInt8]? { try? disk.read(path, upTo: Self.limit) }

    /// A file's bytes as this app would keep what it reads in them; nil where they say nothing to it.
    package static func rewritten(_ bytes: [UInt8]) -> [UInt8]? { parse(bytes).map(self.bytes) }

    private static func bytes(of state: UpdateState) -> [UInt8] {
        let text = state.json.bytes
        return Array((TreeDigest(of: text).description + "\n").utf8) + text
    }

    private static func parse(_ bytes: [UInt8]?) -> UpdateState? {
        guard let bytes, let line = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        let text = Array(bytes[(line + 1)...])
        // guard: update-state-checksum
        guard String(decoding: bytes[..<line], as: UTF8.self) == TreeDigest(of: text).description,
            let value = try? JSONParser.parse(text)
        else { return nil }
        return UpdateState(value)
    }
}
