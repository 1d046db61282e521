// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CLinux
import Foundation
import NacreCore
import NacreHTTP
import NacrePorts
import NacreTesting
import Testing

@testable import NacrePage

struct BundlePathTests {
    @Test(
        "SH-1: paths that leave the tree, or would in another reading, have no file",
        arguments: [
            "/../etc/passwd", "/a/../../etc/passwd", "/..", "/.", "/a/./b", "/%2e%2e/etc/passwd", "/%2E%2e/x",
            "/.%2e/x",
            "/..%2fetc/passwd", "/a%2fb", "/a%2Fb", "/..\\etc", "/a%5cb", "/a\\b", "/a%00.html", "/%00", "/a%0ab",
            "/a%7f",
            "/%", "/%zz", "/%c0%ae%c0%ae/x", "/%ff", "", "a", "*", "/" + String(repeating: "a", count: 5000),
            "/" + String(repeating: "../", count: 200),
        ])
    func refused(_ raw: String) { #expect(BundlePath.normalize(raw) == nil) }

    @Test(
        "Other paths decode once",
        arguments: [
            ("/", "/"), ("/a/b.js", "/a/b.js"), ("/a%20b", "/a b"), ("/caf%C3%A9", "/café"), ("//a///b", "/a/b"),
            ("/a/", "/a/"), ("/%252e%252e/x", "/%2e%2e/x"), ("/...", "/..."), ("/.well-known/x", "/.well-known/x"),
            ("/a..b", "/a..b"),
        ])
    func accepted(_ raw: String, _ expected: String) { #expect(BundlePath.normalize(raw) == expected) }
}

struct FolderBundleTests {
    private func content(_ bundle: FolderBundle, _ path: String) async throws -> String? {
        guard let file = try await bundle.file(at: path) else { return nil }
        let bytes = try await HTTPBody.stream(file.read(0..<file.size), length: file.size).collect(upTo: 1 << 22)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test("Files are read, folders are not, links lead nowhere outside the tree")
    func tree() async throws {
        let folder = try TemporaryFolder()
        let outside = try TemporaryFolder()
        try outside.write("secret.txt", "secret")
        try folder.write("a/b.txt", "inside")
        try folder.link("out.txt", to: outside.path + "/secret.txt")
        try folder.link("out", to: outside.path)
        try folder.link("up", to: "../")
        try folder.link("in.txt", to: "a/b.txt")
        try folder.link("loop", to: "loop")
        let bundle = try FolderBundle(folder.path)
        #expect(try await content(bundle, "/a/b.txt") == "inside")
        #expect(try await content(bundle, "/in.txt") == "inside")
        let tail = folder.path.split(separator: "/").last ?? ""
        for path in [
            "/a", "/", "/none", "/out.txt", "/out/secret.txt", "/loop", "/up/\(tail)-x", "/a/b.txt/c", "/a\0b",
        ] {
            #expect(try await content(bundle, path) == nil, "\(path)")
        }
    }

    @Test("A neighbour folder whose name begins the same is outside")
    func neighbour() async throws {
        let parent = try TemporaryFolder()
        try parent.write("dist/index.html", "in")
        try parent.write("dist-private/key", "out")
        try parent.write("dist/-private/key", "what a careless cut of the path would find")
        try parent.link("dist/x", to: "../dist-private/key")
        let bundle = try FolderBundle(parent.path + "/dist")
        #expect(try await content(bundle, "/index.html") == "in")
        #expect(try await content(bundle, "/x") == nil)
    }

    @Test("Special files are not opened")
    func fifo() async throws {
        let folder = try TemporaryFolder()
        mkfifo(folder.path + "/pipe", 0o644)
        #expect(try await content(try FolderBundle(folder.path), "/pipe") == nil)
    }

    @Test("Large files come in pieces, whole")
    func large() async throws {
        let folder = try TemporaryFolder()
        let text = String(repeating: "0123456789abcdef", count: 20_000)
        try folder.write("big.txt", text)
        #expect(try await content(try FolderBundle(folder.path), "/big.txt") == text)
    }

    @Test("A missing folder says what to do")
    func missing() {
        let error = #expect(throws: NacreError.self) { try FolderBundle("/nonexistent/dist") }
        #expect(error?.code == "bundle.missing")
    }
}

struct ByteRangeTests {
    @Test(
        "Ranges of ten bytes (RFC 9110 section 14)",
        arguments: [
            ("bytes=0-0", ByteRange.part(0..<1)), ("bytes=2-5", .part(2..<6)), ("bytes=5-", .part(5..<10)),
            ("bytes=-3", .part(7..<10)), ("bytes=-30", .part(0..<10)), ("bytes=8-99", .part(8..<10)),
            ("Bytes=0-1", .part(0..<2)), ("bytes=10-", .unsatisfiable), ("bytes=99-100", .unsatisfiable),
            ("bytes=-0", .unsatisfiable), ("bytes=5-2", .all), ("bytes=0-1,3-4", .all), ("bytes=", .all),
            ("bytes=-", .all),
            ("bytes=a-b", .all), ("lines=0-1", .all), ("bytes=0", .all), ("bytes=+1-2", .all),
            ("bytes=99999999999999999999-", .unsatisfiable), ("bytes=0-99999999999999999999", .part(0..<10)),
        ])
    func ten(_ field: String, _ expected: ByteRange) { #expect(ByteRange(field, size: 10) == expected) }

    @Test("Nothing of an empty file can be had")
    func empty() {
        #expect(ByteRange("bytes=0-", size: 0) == .unsatisfiable)
        #expect(ByteRange("bytes=-5", size: 0) == .unsatisfiable)
        #expect(ByteRange(nil, size: 0) == .all)
    }
}
