// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore

/// The bundle of a test's channel and the authority its upstream is checked against.
final class ChannelFolder: Sendable {
    let bundle: String
    let authorityFile: String
    private let path: String

    init(authority: String) throws {
        path = FileManager.default.temporaryDirectory.path + "/nacre-channel-" + SystemRandom().identifier()
        bundle = path + "/dist"
        authorityFile = path + "/authority.pem"
        try FileManager.default.createDirectory(atPath: bundle, withIntermediateDirectories: true)
        for (name, text) in [
            ("dist/index.html", "<!doctype html><title>Nacre page</title>"), ("dist/app.js", "export const a = 1"),
            ("dist/film.mp4", String(repeating: "0123456789", count: 100_000)), ("authority.pem", authority),
        ] { try Data(text.utf8).write(to: URL(fileURLWithPath: path + "/" + name)) }
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
