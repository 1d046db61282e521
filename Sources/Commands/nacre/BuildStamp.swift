// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore

/// The stamp that tells a build from another of the same version (UP-11): `SOURCE_VERSION`, else `MOBILE_OTA_BUILD_ID`, else
/// the commit that the folder is in, else the moment.
enum BuildStamp {
    static func of(_ folder: String, _ environment: [String: String], now: Instant) -> String {
        let named = ["SOURCE_VERSION", "MOBILE_OTA_BUILD_ID"].compactMap { environment[$0] }.first { !$0.isEmpty }
        let stamp = named ?? commit(of: folder) ?? "t\(now.seconds)"
        return String(stamp.prefix(64))
    }

    /// The short name of the commit, where there is git and the folder is in a working tree of its.
    private static func commit(of folder: String) -> String? {
        let git = Process()
        git.executableURL = URL(filePath: "/usr/bin/env")
        git.arguments = ["git", "-C", folder, "rev-parse", "--short=7", "HEAD"]
        let output = Pipe()
        git.standardOutput = output
        git.standardError = FileHandle.nullDevice
        git.standardInput = FileHandle.nullDevice
        guard (try? git.run()) != nil else { return nil }
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        git.waitUntilExit()
        let name = text.trimmingCharacters(in: .whitespacesAndNewlines)
        return git.terminationStatus == 0 && !name.isEmpty ? name : nil
    }
}
