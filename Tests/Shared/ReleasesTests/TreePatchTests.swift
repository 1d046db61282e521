// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreTesting
import Testing

@testable import NacreReleases

@Suite("Patches between trees (UP-10)")
struct TreePatchTests {
    /// Text that does not repeat itself, the same for a seed.
    private func noise(_ count: Int, seed: UInt64) -> [UInt8] {
        var state = seed
        return (0..<count).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(0x20 + (state >> 33) % 90)
        }
    }

    private func apply(_ patch: [UInt8], to base: [UInt8], size: Int) throws -> [UInt8] {
        var out: [UInt8] = []
        try TreePatch.apply(patch, to: base, size: size) { (piece: [UInt8]) throws(NacreError) in out += piece }
        return out
    }

    @Test(
        "UP-10: a patch gives the new stream, and costs what has changed",
        arguments: [TreePatch.Effort.fast, .thorough])
    func small(effort: TreePatch.Effort) throws {
        let base = noise(600_000, seed: 1)
        var target = base
        target.replaceSubrange(300_000..<300_010, with: noise(2_000, seed: 2))
        target.removeSubrange(100_000..<150_000)
        let patch = try TreePatch.make(from: base, to: target, effort: effort)
        #expect(patch.count < 6_000)
        #expect(try apply(patch, to: base, size: target.count) == target)
    }

    @Test("Nothing, and something out of nothing")
    func empty() throws {
        for (base, target) in [([], []), ([], bytes("x")), (bytes("x"), [])] as [([UInt8], [UInt8])] {
            let patch = try TreePatch.make(from: base, to: target, effort: .fast)
            #expect(try apply(patch, to: base, size: target.count) == target)
        }
    }

    @Test("UP-10: a patch of another base, cut, lengthened, changed or of another size gives an error")
    func wrong() throws {
        let base = noise(200_000, seed: 1)
        let target = base + noise(50_000, seed: 2)
        let patch = try TreePatch.make(from: base, to: target, effort: .fast)
        #expect(throws: NacreError.self) { try apply(patch, to: noise(200_000, seed: 3), size: target.count) }
        #expect(throws: NacreError.self) { try apply(patch, to: [], size: target.count) }
        #expect(throws: NacreError.self) { try apply(patch + [0], to: base, size: target.count) }
        #expect(throws: NacreError.self) { try apply(patch + patch, to: base, size: target.count) }
        #expect(throws: NacreError.self) { try apply(patch, to: base, size: target.count - 1) }
        #expect(throws: NacreError.self) { try apply(patch, to: base, size: target.count + 1) }
        for count in stride(from: 0, to: patch.count, by: 4096) {
            #expect(throws: NacreError.self) { try apply(Array(patch[..<count]), to: base, size: target.count) }
        }
        for index in stride(from: 0, to: patch.count, by: 1009) {
            var changed = patch
            changed[index] ^= 1
            if let result = try? apply(changed, to: base, size: target.count) { #expect(result == target) }
        }
    }

    @Test("UP-10: a patch that would unpack to a thousand times its size is stopped at the signed size")
    func bomb() throws {
        // Both sizes take a window of 32 MB, or the window would be what stops it.
        let size = 17_000_000
        let patch = try TreePatch.make(from: [], to: [UInt8](repeating: 0, count: 30_000_000), effort: .fast)
        #expect(patch.count < 100_000)
        var got = 0
        #expect(throws: NacreError.self) {
            try TreePatch.apply(patch, to: [], size: size) { (piece: [UInt8]) throws(NacreError) in
                got += piece.count
            }
        }
        // It had begun, and went no further.
        #expect((1...size).contains(got))
    }

    @Test("UP-10: a patch that asks for a window of no use is refused before memory is asked for")
    func window() throws {
        // A frame of one empty block that wants 2 GB, 16 MB and 1 MB.
        for (log, isTaken) in [(31, false), (24, false), (20, true)] {
            let frame: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD, 0, UInt8((log - 10) << 3), 1, 0, 0]
            #expect((try? apply(frame, to: [], size: 0)) == (isTaken ? [] : nil), "2^\(log)")
        }
    }

    @Test("Long work tells how far it is, and can be stopped")
    func progress() throws {
        let target = [UInt8](repeating: 7, count: 5_000_000)
        var seen: [Double] = []
        _ = try TreePatch.make(from: [], to: target, effort: .fast) { (part: Double) throws(NacreError) in
            seen.append(part)
        }
        #expect(seen == seen.sorted() && seen.last == 1 && seen.count >= 5)
        #expect(throws: NacreError.self) {
            try TreePatch.make(from: [], to: target, effort: .fast) { (_: Double) throws(NacreError) in
                throw NacreError("test.stopped", "Stopped.")
            }
        }
    }

    @Test("UP-10: bundles whose every file got another name cost little more than what is inside of them")
    func renamed() throws {
        let old = try TemporaryFolder()
        let new = try TemporaryFolder()
        for index in 0..<30 {
            let content = noise(10_000, seed: UInt64(index + 10))
            try old.write("assets/part\(index)-\(hash(index, 1)).js", content)
            try new.write(
                "assets/part\(index)-\(hash(index, 2)).js", bytes("import './x-\(hash(index + 1, 2)).js';\n") + content)
        }
        let (from, to) = (TreeFolder(old.path), TreeFolder(new.path))
        let base = try TreePatch.stream(of: from.measure()) { (file: ReleaseFile) throws(NacreError) in
            try from.bytes(file)
        }
        let target = try TreePatch.stream(of: to.measure()) { (file: ReleaseFile) throws(NacreError) in
            try to.bytes(file)
        }
        let patch = try TreePatch.make(from: base, to: target, effort: .thorough)
        #expect(patch.count * 100 < target.count * 2)
        #expect(try apply(patch, to: base, size: target.count) == target)
    }

    private func hash(_ index: Int, _ build: Int) -> String {
        String(TreeDigest(of: bytes("\(index).\(build)")).description.prefix(8))
    }
}
