// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreTesting
import Testing

@testable import NacreReleases

@Suite("Trees of a release")
struct ReleaseTreeTests {
    @Test(
        "UP-5: a name that could leave the tree, or mean two things, is no path",
        arguments: [
            "", "/", "/index.html", "a//b", "a/", "../x", "a/../b", ".", "a/./b", "a\\b", "a\u{0}b", "a\nb", "a\u{7F}",
            "C:x", "c:/x", String(repeating: "a", count: 256), String(repeating: "a/", count: 600) + "b",
            String(repeating: "a/", count: 32) + "b",
            String(repeating: String(repeating: "a", count: 250) + "/", count: 5),
            String(repeating: String(repeating: "a", count: 250) + "/", count: 5) + "b",
        ])
    func badPaths(text: String) {
        #expect(throws: NacreError.self) { try ReleasePath(text) }
    }

    @Test(
        "Usual and unusual names are paths",
        arguments: ["index.html", "assets/app-BcXz9a1Q.js", ".well-known/x", "été/№ 1.txt", "a b", "...", "ab:c", "-"])
    func goodPaths(text: String) throws {
        #expect(try ReleasePath(text).text == text)
    }

    @Test("The order of the files does not matter, their names, sizes and contents do")
    func name() throws {
        let a = try release("a", "1")
        let b = try release("b/c", "2")
        let tree = try ReleaseTree([a, b])
        #expect(try ReleaseTree([b, a]) == tree)
        #expect(try ReleaseTree([a]).digest != tree.digest)
        #expect(try ReleaseTree([a, release("b/d", "2")]).digest != tree.digest)
        #expect(try ReleaseTree([a, release("b/c", "3")]).digest != tree.digest)
        #expect(tree[try ReleasePath("b/c")] == b)
        #expect(tree[try ReleasePath("b")] == nil)
    }

    @Test("The name is what sha256sum says of the list")
    func list() throws {
        let tree = try ReleaseTree([try release("b", "2\n"), try release("a", "1\n")])
        #expect(
            String(decoding: tree.list, as: UTF8.self)
                == """
                4355a46b19d348dc2f57c046f8ef63d4538ebb936000f3c9ee954a27460dd865 2 a
                53c234e5e8472b6ac51c1ae1cab3fe06fad053beb8ebfd8977b010655bfdd3c3 2 b

                """)
        #expect(try ReleaseTree(list: tree.list) == tree)
        #expect(try ReleaseTree(list: []).files.isEmpty)
    }

    @Test(
        "UP-5: names that some system takes for one are refused",
        arguments: [
            ("a", "a"), ("A.js", "a.js"), ("é", "e\u{301}"), ("a", "a/b"), ("A/b", "a"), ("x/y", "X/y/z"),
            ("a", "a/\u{301}x"), ("\u{17F}.js", "S.js"), ("\u{3C2}", "\u{3A3}"), ("\u{212A}/x", "k"),
        ])
    func collisions(one: String, two: String) throws {
        let files = [try release(one, "1"), try release(two, "2")]
        let error = #expect(throws: NacreError.self) { try ReleaseTree(files) }
        #expect(error?.code == "release.duplicate")
    }

    @Test("More files or bytes than allowed are refused")
    func limits() throws {
        let files = [try release("a", "123"), try release("b", "456")]
        for limits in [ReleaseLimits(files: 1), ReleaseLimits(bytes: 5)] {
            let error = #expect(throws: NacreError.self) { try ReleaseTree(files, limits: limits) }
            #expect(error?.code == "release.too_large")
        }
        let huge = ReleaseFile(path: files[0].path, digest: files[0].digest, size: .max)
        #expect(throws: NacreError.self) { try ReleaseTree([huge, files[1]], limits: ReleaseLimits(bytes: .max)) }
        #expect(throws: NacreError.self) {
            try ReleaseTree(list: try ReleaseTree(files).list, limits: ReleaseLimits(listBytes: 10))
        }
    }

    @Test(
        "Only the one text of a tree is read: no other order, spelling, blank or end",
        arguments: [
            { (list: String) in String(list.dropLast()) }, { $0 + "\n" }, { $0 + "x\n" }, { $0.uppercased() },
            { $0.replacing(" 1 ", with: " 01 ") }, { $0.replacing(" 1 ", with: " +1 ") },
            { $0.replacing(" 1 ", with: "  1 ") },
            { $0.split(separator: "\n").reversed().joined(separator: "\n") + "\n" },
            { $0.replacing("\n", with: "\r\n") },
        ] as [@Sendable (String) -> String])
    func canonical(change: @Sendable (String) -> String) throws {
        let tree = try ReleaseTree([try release("a", "1"), try release("b", "2")])
        let text = change(String(decoding: tree.list, as: UTF8.self))
        #expect(throws: NacreError.self) { try ReleaseTree(list: bytes(text)) }
    }

    @Test(
        "What looks like a hash does not count in the order of the stream",
        arguments: [
            ("assets/index-BcXz9a1Q.js", "assets/index.js"), ("main.3f2a9c1b77.css", "main.css"),
            ("index-Bc-z9a1Q.js", "index.js"), ("a/12.abcdef0123456789.js", "a/12.js"), ("index.html", "index.html"),
            ("app-v2.js", "app-v2.js"), ("no-hash/x", "no-hash/x"),
        ])
    func order(path: String, key: String) {
        #expect(TreeOrder.key(path) == bytes(key))
    }

    @Test("A folder is measured; links are refused by name")
    func folder() throws {
        let folder = try TemporaryFolder()
        try folder.write("index.html", bytes("1"))
        try folder.write("assets/a.js", bytes("22"))
        try folder.write(".DS_Store", bytes("3"))
        // Packed twins and source maps are for other servers; what only looks like one stays.
        for twin in ["assets/a.js.gz", "assets/a.js.br", "assets/a.js.map"] { try folder.write(twin, bytes("4")) }
        try folder.write("tiles.map", bytes("55"))
        try folder.write("index.html.map/x", bytes("6"))
        let tree = try TreeFolder(folder.path).measure()
        #expect(
            try tree
                == ReleaseTree([
                    release("index.html", "1"), release("assets/a.js", "22"), release("tiles.map", "55"),
                    release("index.html.map/x", "6"),
                ]))
        try run("ln", ["-s", "/etc/passwd", "assets/link"], in: folder.path)
        let error = #expect(throws: NacreError.self) { try TreeFolder(folder.path).measure() }
        #expect(error?.message.contains("assets/link") == true)
    }
}
