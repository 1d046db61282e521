// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreTesting
import Testing

@testable import NacreReleases

@Suite("Trees as they come from a store (UP-5, UP-10)")
struct StoredTreeTests {
    private let contents = ["index.html": "<!doctype html>", "app.js": "let a = 1", "empty.txt": "", "a/b.css": "p {}"]

    private func tree() throws -> ReleaseTree {
        try ReleaseTree(contents.map { try release($0.key, $0.value) })
    }

    private func content(_ file: ReleaseFile) -> [UInt8] { bytes(contents[file.path.text] ?? "?") }

    private func stream(_ tree: ReleaseTree) throws -> [UInt8] {
        try TreePatch.stream(of: tree) { (file: ReleaseFile) throws(NacreError) in content(file) }
    }

    @Test("UP-10: files and lists lie under names that say their channel, and the list under the tree's name")
    func places() throws {
        let digest = TreeDigest(of: bytes("x"))
        #expect(ReleaseStore.list("prod", digest) == "channels/prod/trees/\(digest).list.zst")
    }

    @Test("UP-10: a packed file unpacks to what its digest names, and to nothing else")
    func packed() throws {
        for text in ["", "a", String(repeating: "wide ", count: 50_000)] {
            let content = bytes(text)
            let packed = try PackedFile.pack(content)
            #expect(packed.count <= PackedFile.bound(content.count))
            #expect(try PackedFile.pack(content) == packed)
            let digest = TreeDigest(of: content)
            #expect(try PackedFile.unpack(packed, size: content.count, digest: digest) == content)
            #expect(throws: NacreError.self) {
                try PackedFile.unpack(packed, size: content.count + 1, digest: digest)
            }
            #expect(throws: NacreError.self) {
                try PackedFile.unpack(packed + [0], size: content.count, digest: digest)
            }
            #expect(throws: NacreError.self) {
                try PackedFile.unpack(Array(packed.dropLast()), size: content.count, digest: digest)
            }
        }
    }

    @Test("UP-5: a file of the same size under another's digest is refused")
    func substituted() throws {
        let packed = try PackedFile.pack(bytes("evil"))
        #expect(throws: NacreError.self) {
            try PackedFile.unpack(packed, size: 4, digest: TreeDigest(of: bytes("good")))
        }
    }

    @Test("UP-10: a packed list gives the tree that was signed")
    func list() throws {
        let tree = try tree()
        let facts = ReleasePayload.TreeFacts(tree)
        #expect(try ReleaseTree(packedList: PackedFile.pack(tree.list), of: facts) == tree)
        let other = try ReleaseTree([release("index.html", "x")])
        #expect(throws: NacreError.self) { try ReleaseTree(packedList: PackedFile.pack(other.list), of: facts) }
        var limits = ReleaseLimits()
        limits.listBytes = facts.listBytes - 1
        let fault = #expect(throws: NacreError.self) {
            // It is not even unpacked.
            try ReleaseTree(packedList: [1, 2, 3], of: facts, limits: limits)
        }
        #expect(fault?.code == "release.too_large")
    }

    @Test("UP-10: a stream is taken apart into its files, however it is cut", arguments: [1, 7, 64, 100_000])
    func takenApart(piece: Int) throws {
        let tree = try tree()
        let stream = try stream(tree)
        var reader = try TreeStreamReader(.init(tree))
        var got: [String: [UInt8]] = [:]
        for start in stride(from: 0, to: stream.count, by: piece) {
            try reader.take(Array(stream[start..<min(start + piece, stream.count)])) {
                (file: ReleaseFile, content: [UInt8]) throws(NacreError) in got[file.path.text] = content
            }
        }
        #expect(try reader.finish() == tree)
        #expect(got == contents.mapValues { bytes($0) })
    }

    @Test("UP-5: a stream that is not the signed tree's gives an error at the first wrong byte, and no wrong file")
    func wrongStream() throws {
        let tree = try tree()
        let right = try stream(tree)
        func read(_ stream: [UInt8]) throws -> ReleaseTree {
            var reader = try TreeStreamReader(.init(tree))
            try reader.take(stream) { (file: ReleaseFile, content: [UInt8]) throws(NacreError) in
                #expect(content == self.content(file))
            }
            return try reader.finish()
        }
        #expect(try read(right) == tree)
        for index in right.indices {
            var changed = right
            changed[index] ^= 1
            #expect(throws: NacreError.self) { try read(changed) }
        }
        #expect(throws: NacreError.self) { try read(Array(right.dropLast())) }
        #expect(throws: NacreError.self) { try read(right + [0]) }
        var limits = ReleaseLimits()
        limits.bytes = tree.bytes - 1
        #expect(throws: NacreError.self) { try TreeStreamReader(.init(tree), limits: limits) }
    }

    @Test("UP-10: a patch gives the files of the signed tree")
    func patch() throws {
        let tree = try tree()
        let base = bytes("let a = 2 <!doctype html>")
        let patch = try TreePatch.make(from: base, to: stream(tree), effort: .fast)
        var count = 0
        let put: (ReleaseFile, [UInt8]) throws(NacreError) -> Void = { _, _ in count += 1 }
        #expect(try TreePatch.apply(patch, to: base, giving: .init(tree), put) == tree)
        #expect(count == contents.count)
        let other = try ReleaseTree([release("index.html", "x")])
        #expect(throws: NacreError.self) { try TreePatch.apply(patch, to: base, giving: .init(other), put) }
    }

    @Test("UP-5: an archive must hold the tree that was signed")
    func archive() throws {
        let folder = try TemporaryFolder()
        for (name, text) in contents { try folder.write("web/" + name, bytes(text)) }
        let tree = try tree()
        let web = TreeFolder(folder.path + "/web")
        try ArchiveWriter.write(tree.files.map { ($0.path, web.file($0.path)) }, to: folder.path + "/a.zip")
        let reader = try ArchiveReader(FileBytes(folder.path + "/a.zip"))
        var got: [String: [UInt8]] = [:]
        let put: (ReleaseFile, [UInt8]) throws(NacreError) -> Void = { got[$0.path.text] = $1 }
        #expect(try reader.unpack(tree: tree.digest, put) == tree)
        #expect(got == contents.mapValues { bytes($0) })
        #expect(try reader.unpack(tree: nil, put) == tree)
        let fault = #expect(throws: NacreError.self) { try reader.unpack(tree: TreeDigest(of: bytes("x")), put) }
        #expect(fault?.code == "release.archive")
    }
}
