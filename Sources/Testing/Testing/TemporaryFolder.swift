// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import FoundationEssentials
import NacreCore
import NacrePorts

/// A folder of one test, removed with its last user.
package final class TemporaryFolder: Sendable {
    package let path: String
    private let isKept: Bool

    package init() throws {
        path = FileManager.default.temporaryDirectory.path + "/nacre-test-" + SystemRandom().identifier()
        isKept = false
        try Self.make(path)
    }

    /// A folder that is there, and that somebody else removes.
    package init(at path: String) { (self.path, isKept) = (path, true) }

    deinit { if !isKept { try? FileManager.default.removeItem(atPath: path) } }

    /// The path of what is in it under this name, whether it is there or not.
    package func file(_ name: String) -> String { path + "/" + name }

    /// Writes a file, with the folders above it, and gives its path.
    @discardableResult
    package func write(_ name: String, _ content: [UInt8]) throws -> String {
        let file = file(name)
        try Self.make(String(file[..<(file.lastIndex(of: "/") ?? file.endIndex)]))
        try Data(content).write(to: URL(filePath: file))
        return file
    }

    /// As with bytes, in UTF-8. A file that only has to be there needs no text.
    @discardableResult
    package func write(_ name: String, _ text: String = "x") throws -> String { try write(name, Array(text.utf8)) }

    /// What a file holds; nil where there is none.
    package func read(_ name: String) -> [UInt8]? {
        (try? Data(contentsOf: URL(filePath: file(name)))).map { Array($0) }
    }

    package func holds(_ name: String) -> Bool { FileManager.default.fileExists(atPath: file(name)) }

    package func link(_ name: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(atPath: file(name), withDestinationPath: target)
    }

    private static func make(_ path: String) throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }
}
