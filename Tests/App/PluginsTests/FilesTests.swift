// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreBridge
import NacreCore
import Testing

@testable import NacrePlugins

/// What a hostile or careless page may try with files; the ordinary calls are in the bridge's golden traces.
@Suite("Filesystem: the app's folders and nothing else")
final class FilesTests: Sendable {
    private let folder: String
    private let roots: FileRoots
    private let plugin: FilesystemPlugin

    init() throws {
        folder = NSTemporaryDirectory() + "nacre-fs-" + UUID().uuidString
        roots = FileRoots(files: folder + "/files", cache: folder + "/cache")
        try roots.make()
        plugin = FilesystemPlugin(roots: roots, random: SystemRandom())
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private func call(_ method: String, _ options: JSONValue) async -> Result<JSONValue, BridgeRejection> {
        do {
            let context = BridgeCallContext(pageLoad: 1) { _ in }
            return .success(try await plugin.call(method, options: options, call: context))
        } catch { return .failure(BridgeRejection(error)) }
    }

    private func code(_ method: String, _ options: JSONValue) async -> String? {
        if case .failure(let rejection) = await call(method, options) { return rejection.code }
        return nil
    }

    @Test(
        "A path with .. is refused, however it is written",
        arguments: ["..", "../x", "a/../../x", "a/..", "./../x", "/../x", "a//..//..//x", "..\u{301}/../x"])
    func traversal(_ path: String) async {
        for method in ["readFile", "writeFile", "stat", "deleteFile", "rmdir", "mkdir", "getUri"] {
            let options: JSONValue = [
                "path": .string(path), "directory": "DATA", "data": "", "recursive": true, "encoding": "utf8",
            ]
            #expect(await code(method, options) == "OS-PLUG-FILE-0006", "\(method)")
        }
        #expect(await code("copy", ["from": "a", "to": .string(path), "directory": "DATA"]) == "OS-PLUG-FILE-0006")
        #expect(await code("rename", ["from": .string(path), "to": "b", "directory": "DATA"]) == "OS-PLUG-FILE-0006")
    }

    @Test(
        "Without a directory only the app's own files can be named",
        arguments: [
            "/etc/passwd", "file:///etc/passwd", "file:///", "/", "file:///%65tc/passwd", "/tmp",
        ])
    func outside(_ path: String) async {
        #expect(await code("readFile", ["path": .string(path)]) == "OS-PLUG-FILE-0007")
        #expect(await code("rmdir", ["path": .string(path), "recursive": true]) == "OS-PLUG-FILE-0007")
    }

    @Test("A folder whose name only begins like one of the app's is another")
    func prefix() async {
        #expect(await code("readFile", ["path": .string(folder + "/files/database/x")]) == "OS-PLUG-FILE-0007")
        #expect(await code("readFile", ["path": .string(folder + "/files/data\0/x")]) == "OS-PLUG-FILE-0006")
    }

    @Test("A link leads nowhere: not to read, to write, to list, to copy or to remove through")
    func links() async throws {
        let files = FileManager.default
        try files.createDirectory(atPath: folder + "/outside", withIntermediateDirectories: true)
        try Data("secret".utf8).write(to: URL(fileURLWithPath: folder + "/outside/key"))
        let data = folder + "/files/data"
        try files.createSymbolicLink(atPath: data + "/key", withDestinationPath: folder + "/outside/key")
        try files.createSymbolicLink(atPath: data + "/dir", withDestinationPath: folder + "/outside")
        for path in ["key", "dir/key"] {
            let at: JSONValue = ["path": .string(path), "directory": "DATA", "encoding": "utf8", "data": "x"]
            #expect(await code("readFile", at) != nil)
            #expect(await code("appendFile", at) != nil)
            #expect(await code("stat", at) != nil)
        }
        #expect(await code("writeFile", ["path": "dir/new", "directory": "DATA", "data": ""]) == "OS-PLUG-FILE-0009")
        #expect(await code("readdir", ["path": "dir", "directory": "DATA"]) == "OS-PLUG-FILE-0009")
        #expect(await code("copy", ["from": "key", "to": "copy", "directory": "DATA"]) == "OS-PLUG-FILE-0008")
        #expect(await call("readdir", ["path": "", "directory": "DATA"]) == .success(["files": []]))
        // A folder that holds a link goes with it, what the link names stays.
        _ = await call("mkdir", ["path": "gone", "directory": "DATA"])
        try files.createSymbolicLink(atPath: data + "/gone/dir", withDestinationPath: folder + "/outside")
        #expect(await code("rmdir", ["path": "gone", "directory": "DATA", "recursive": true]) == nil)
        #expect(try String(contentsOfFile: folder + "/outside/key", encoding: .utf8) == "secret")
    }

    @Test("A file beyond 32 MB is read in parts")
    func large() async throws {
        let path = folder + "/files/data/large"
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        let handle = try #require(FileHandle(forWritingAtPath: path))
        try handle.truncate(atOffset: UInt64(FilesystemPlugin.largestRead + 1))
        try handle.close()
        #expect(await code("readFile", ["path": "large", "directory": "DATA"]) == "OS-PLUG-FILE-0013")
        let end: JSONValue = [
            "path": "large", "directory": "DATA", "offset": JSONValue(FilesystemPlugin.largestRead - 2),
        ]
        #expect(await call("readFile", end) == .success(["data": "AAAA"]))
    }

    @Test("A file is replaced as a whole: nothing half-written is ever listed, and nothing is left of a failure")
    func replaced() async throws {
        let at: JSONValue = ["path": "a", "directory": "DATA", "data": "new", "encoding": "utf8"]
        for _ in 0..<2 { #expect(await code("writeFile", at) == nil) }
        let names = try FileManager.default.contentsOfDirectory(atPath: folder + "/files/data")
        #expect(names == ["a"])
        #expect(await code("writeFile", ["path": "a/b", "directory": "DATA", "data": ""]) == "OS-PLUG-FILE-0009")
        #expect(
            await code("mkdir", ["path": .string(String(repeating: "n", count: 300)), "directory": "DATA"])
                == "OS-PLUG-FILE-0006")
    }
}
