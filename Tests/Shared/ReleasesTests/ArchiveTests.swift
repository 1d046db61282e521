// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreTesting
import Testing

@testable import NacreReleases

@Suite("Archives (UP-5)")
struct ArchiveTests {
    static let files = [
        ("index.html", bytes("<!doctype html>")),
        ("assets/app.js", bytes(String(repeating: "let x = 1;\n", count: 20_000))),
        ("assets/été.txt", bytes("é")), ("empty", []),
        ("noise.bin", (0..<300_000).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 13) }),
    ]

    /// Files in a folder, and the archive of them by our own writer.
    private func archive(in folder: TemporaryFolder) throws -> String {
        var list: [(path: ReleasePath, file: String)] = []
        for (name, content) in Self.files {
            list.append((try ReleasePath(name), try folder.write("tree/" + name, content)))
        }
        let path = folder.path + "/a.zip"
        try ArchiveWriter.write(list, to: path)
        return path
    }

    private func contents(_ reader: ArchiveReader) throws -> [String: [UInt8]] {
        var all: [String: [UInt8]] = [:]
        for entry in reader.entries {
            var content: [UInt8] = []
            try reader.content(of: entry) { (piece: [UInt8]) throws(NacreError) in content += piece }
            all[entry.path.text] = content
        }
        return all
    }

    @Test("What was written is read, and unzip agrees; the same files give the same bytes")
    func roundTrip() throws {
        let folder = try TemporaryFolder()
        let path = try archive(in: folder)
        let first = try #require(folder.read("a.zip"))
        #expect(try contents(ArchiveReader(FileBytes(path))) == Dictionary(uniqueKeysWithValues: Self.files))
        try run(
            "python3", ["-c", "import zipfile; assert zipfile.ZipFile('a.zip').testzip() is None"], in: folder.path)
        try run("touch", ["-d", "2001-01-01", "tree/index.html"], in: folder.path)
        _ = try archive(in: folder)
        #expect(folder.read("a.zip") == first)
    }

    /// Archives by Python's writer, which can write what ours never would.
    private func python(_ code: String, in folder: TemporaryFolder) throws -> ArchiveReader {
        try run(
            "python3",
            [
                "-c",
                "import zipfile, io, struct\nz = zipfile.ZipFile('p.zip', 'w', zipfile.ZIP_DEFLATED)\n\(code)\nz.close()",
            ], in: folder.path)
        return try ArchiveReader(FileBytes(folder.path + "/p.zip"))
    }

    @Test("Another writer's archives are read: stored, deflated, with folders, streamed")
    func others() throws {
        let folder = try TemporaryFolder()
        let reader = try python(
            """
            z.writestr('index.html', 'x' * 1000)
            z.writestr(zipfile.ZipInfo('assets/'), '')
            z.writestr(zipfile.ZipInfo('assets/a'), 'stored')
            """, in: folder)
        #expect(
            try contents(reader) == ["index.html": [UInt8](repeating: 0x78, count: 1000), "assets/a": bytes("stored")])
        let streamed = try TemporaryFolder()
        try run(
            "python3",
            [
                "-c",
                """
                import zipfile
                class Out:
                    def __init__(self): self.f = open('p.zip', 'wb')
                    def write(self, b): return self.f.write(b)
                    def flush(self): self.f.flush()
                with zipfile.ZipFile(Out(), 'w', zipfile.ZIP_DEFLATED) as z: z.writestr('a', 'streamed' * 99)
                """,
            ], in: streamed.path)
        let result = try contents(ArchiveReader(FileBytes(streamed.path + "/p.zip")))
        #expect(result == ["a": bytes(String(repeating: "streamed", count: 99))])
    }

    @Test(
        "UP-5: what could leave the tree or mean two things is refused",
        arguments: [
            ("climbing", "z.writestr('../x', '1')"), ("absolute", "z.writestr('/x', '1')"),
            ("back-slash", "z.writestr('a\\\\\\\\b', '1')"), ("twice", "z.writestr('a', '1'); z.writestr('a', '2')"),
            ("case", "z.writestr('a', '1'); z.writestr('A', '2')"),
            ("file and folder", "z.writestr('a', '1'); z.writestr('a/b', '2')"),
            ("climbing folder", "z.writestr(zipfile.ZipInfo('../x/'), '')"),
            (
                "link",
                "i = zipfile.ZipInfo('l'); i.create_system = 3; i.external_attr = 0o120777 << 16; z.writestr(i, '/etc/passwd')"
            ),
            (
                "link of another system",
                "i = zipfile.ZipInfo('l'); i.create_system = 19; i.external_attr = 0o120777 << 16; z.writestr(i, 'x')"
            ),
            (
                "device",
                "i = zipfile.ZipInfo('l'); i.create_system = 3; i.external_attr = 0o020666 << 16; z.writestr(i, '')"
            ),
            ("bzip2", "z.writestr(zipfile.ZipInfo('b'), 'x' * 99, zipfile.ZIP_BZIP2)"),
            ("comment", "z.writestr('a', '1'); z.comment = b'hello'"),
            (
                "zip64",
                "f = z.open(zipfile.ZipInfo('a'), 'w', force_zip64=True); f.write(b'1'); f.close(); z.filelist[0].file_size = 1 << 33"
            ),
        ])
    func refused(what: String, code: String) throws {
        let folder = try TemporaryFolder()
        #expect(throws: NacreError.self, "\(what)") {
            _ = try contents(try python("import warnings; warnings.simplefilter('ignore')\n" + code, in: folder))
        }
    }

    @Test("UP-5: a file that unpacks to more than it says is stopped there; too large a promise is refused at once")
    func bombs() throws {
        let folder = try TemporaryFolder()
        let reader = try python("z.writestr('bomb', b'\\0' * 50_000_000)", in: folder)
        #expect(reader.entries[0].size == 50_000_000)
        #expect(throws: NacreError.self) {
            try ArchiveReader(FileBytes(folder.path + "/p.zip"), limits: ReleaseLimits(bytes: 49_999_999))
        }
        // The same archive with a small promise, in both places.
        var lying = try #require(folder.read("p.zip"))
        for index in 0..<lying.count - 4 where Array(lying[index..<index + 4]) == [0x80, 0xF0, 0xFA, 0x02] {
            lying.replaceSubrange(index..<index + 4, with: [0x10, 0, 0, 0])
        }
        let liar = try ArchiveReader(MemoryBytes(lying))
        #expect(liar.entries[0].size == 16)
        var got = 0
        #expect(throws: NacreError.self) {
            try liar.content(of: liar.entries[0]) { (piece: [UInt8]) throws(NacreError) in got += piece.count }
        }
        #expect(got <= 16)
    }

    @Test("UP-5: cut anywhere, or with something behind its end, it is no archive")
    func cut() throws {
        let folder = try TemporaryFolder()
        let whole = try FileBytes(try archive(in: folder))
        let all = try whole.read(0..<whole.count)
        for count in stride(from: 0, to: all.count, by: 64 * 1024) + [all.count - 1, all.count - 22] {
            #expect(throws: NacreError.self) { try ArchiveReader(MemoryBytes(Array(all[..<count]))) }
        }
        #expect(throws: NacreError.self) { try ArchiveReader(MemoryBytes(all + [0])) }
        #expect(throws: NacreError.self) { try ArchiveReader(MemoryBytes(all + all)) }
        #expect(throws: NacreError.self) { try ArchiveReader(MemoryBytes([0] + all)) }
    }

    @Test("UP-5: a byte changed anywhere is found, or changes nothing that is unpacked")
    func changed() throws {
        let folder = try TemporaryFolder()
        let whole = try FileBytes(try archive(in: folder))
        let all = try whole.read(0..<whole.count)
        let wanted = Dictionary(uniqueKeysWithValues: Self.files)
        for index in stride(from: 0, to: all.count, by: 97) {
            var changed = all
            changed[index] ^= 0x10
            guard let reader = try? ArchiveReader(MemoryBytes(changed)), let seen = try? contents(reader) else {
                continue
            }
            // Names stand in two places, so a changed one is found; what is left are times and attributes.
            #expect(seen == wanted, "byte \(index)")
        }
    }

    // MARK: Archives by hand

    @Test("UP-5: a file marked as encrypted is refused")
    func flags() throws {
        var zip = RawZip()
        zip.add("a", bytes("x"), flags: 1)
        #expect(throws: NacreError.self) { try ArchiveReader(MemoryBytes(zip.finished)) }
    }

    @Test("UP-5: a name that differs in the two places is refused")
    func twoNames() throws {
        var zip = RawZip()
        zip.point("index.html", bytes("x"), at: zip.addLocal("index.htmx", bytes("x")))
        #expect(throws: NacreError.self) { try ArchiveReader(MemoryBytes(zip.finished)) }
    }

    @Test("UP-5: a size that differs in the two places is refused")
    func twoSizes() throws {
        var zip = RawZip()
        zip.point("a", bytes("x"), at: zip.addLocal("a", bytes("xyz")))
        #expect(throws: NacreError.self) { try ArchiveReader(MemoryBytes(zip.finished)) }
        // The sum, the packed and the plain size at the file itself, each alone, with everything where it should be.
        var plain = RawZip()
        plain.add("a", bytes("x"))
        _ = try ArchiveReader(MemoryBytes(plain.finished))
        for place in [14, 18, 22] {
            var changed = plain.finished
            changed[place] ^= 1
            #expect(throws: NacreError.self, "byte \(place)") { try ArchiveReader(MemoryBytes(changed)) }
        }
    }

    @Test("UP-5: a file that lies inside of another one is refused")
    func overlap() throws {
        var inner = RawZip()
        inner.addLocal("inner", bytes("payload"))
        var zip = RawZip()
        zip.add("outer", inner.local)
        // The inner one's local header stands where the outer one's content begins.
        zip.point("inner", bytes("payload"), at: 30 + 5)
        #expect(throws: NacreError.self) { try ArchiveReader(MemoryBytes(zip.finished)) }
    }

    @Test("UP-5: what follows a streamed file must say of it what the directory says")
    func descriptors() throws {
        func archive(_ descriptor: [UInt8]) throws -> ArchiveReader {
            var zip = RawZip()
            zip.addStreamed("a", bytes("x"), descriptor)
            return try ArchiveReader(MemoryBytes(zip.finished))
        }
        let facts = RawZip.facts(bytes("x"))
        let mark: [UInt8] = [0x50, 0x4B, 7, 8]
        for good in [facts, mark + facts, []] { #expect(throws: Never.self) { try archive(good) } }
        let zeros = [UInt8](repeating: 0, count: 12)
        for bad in [
            zeros, mark + zeros, zeros.suffix(4) + facts, facts + zeros.suffix(4), mark, Array(facts.dropLast()),
        ] {
            #expect(throws: NacreError.self, "\(bad)") { try archive(bad) }
        }
    }

    @Test("UP-5: a folder by its name and a file by its mode, or the other way round, is refused")
    func folderModes() throws {
        for (name, mode, isRead) in [
            ("d/", 0o40755, true), ("d/", 0, true), ("f", 0o100644, true), ("f", 0, true), ("d/", 0o100644, false),
            ("f", 0o40755, false),
        ] {
            var zip = RawZip()
            zip.point(bytes(name), [], at: zip.addLocal(name, []), mode: mode)
            let reader = try? ArchiveReader(MemoryBytes(zip.finished))
            #expect((reader != nil) == isRead, "\(name) \(mode)")
        }
    }

    @Test("UP-5: bytes that the directory does not name, before, between or behind the files, are refused")
    func gaps() throws {
        func hidden(_ names: [String]) throws -> ArchiveReader {
            var zip = RawZip()
            for name in names {
                let offset = zip.addLocal(name, bytes(name))
                if !name.hasPrefix("hidden") { zip.point(name, bytes(name), at: offset) }
            }
            return try ArchiveReader(MemoryBytes(zip.finished))
        }
        #expect(throws: Never.self) { try hidden(["a", "b"]) }
        for names in [["hidden", "a", "b"], ["a", "hidden", "b"], ["a", "b", "hidden"], ["hidden"]] {
            #expect(throws: NacreError.self, "\(names)") { try hidden(names) }
        }
    }

    @Test("UP-5: a second name in an extra field is refused, in either place")
    func secondName() throws {
        for (local, central) in [(true, false), (false, true)] {
            let folder = try TemporaryFolder()
            let field = "struct.pack('<HHBI4s', 0x7075, 9, 1, 0, b'evil')"
            let code = """
                i = zipfile.ZipInfo('a')
                i.extra = \(local ? field : "b''")
                z.writestr(i, '1')
                i.extra = \(central ? field : "b''")
                """
            #expect(throws: NacreError.self) { try python(code, in: folder) }
        }
    }

    @Test("UP-5: extra fields that are none are refused, in either place; a few zeros at their end are padding")
    func extraFields() throws {
        for (extra, isRead) in [
            ([], true), ([0x55, 0x54, 1, 0, 9], true), ([0, 0, 0], true), ([0x55, 0x54, 1, 0, 9, 0], true),
            ([1], false), ([0x55, 0x54, 2, 0, 9], false), ([0x55, 0x54, 0xFF, 0xFF], false), ([0, 0, 0, 1], false),
        ] as [([UInt8], Bool)] {
            for (local, central) in [(extra, []), ([], extra), (extra, extra)] {
                var zip = RawZip()
                let offset = zip.addLocal(bytes("a"), bytes("x"), extra: local)
                zip.point(bytes("a"), bytes("x"), at: offset, extra: central)
                let reader = try? ArchiveReader(MemoryBytes(zip.finished))
                #expect((reader != nil) == isRead, "\(local) \(central)")
            }
        }
    }

    @Test("A name that is not UTF-8, and a directory that is too large, are refused")
    func directory() throws {
        var zip = RawZip()
        zip.add([0x61, 0xFF], bytes("x"))
        #expect(throws: NacreError.self) { try ArchiveReader(MemoryBytes(zip.finished)) }
        var many = RawZip()
        for index in 0..<50 { many.add("\(index)", []) }
        #expect(throws: Never.self) { try ArchiveReader(MemoryBytes(many.finished)) }
        #expect(throws: NacreError.self) {
            try ArchiveReader(MemoryBytes(many.finished), limits: ReleaseLimits(listBytes: 1000))
        }
    }
}

/// A zip of stored files, put together as a liar would.
private struct RawZip {
    private(set) var local: [UInt8] = []
    private var central: [UInt8] = []
    private var count = 0

    private static func number(_ value: Int, _ width: Int) -> [UInt8] {
        (0..<width).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }

    private func number(_ value: Int, _ width: Int) -> [UInt8] { Self.number(value, width) }

    /// Sum and sizes of a stored file.
    static func facts(_ content: [UInt8]) -> [UInt8] {
        var sum = ArchiveChecksum()
        sum.update(content)
        return number(Int(sum.value), 4) + number(content.count, 4) + number(content.count, 4)
    }

    @discardableResult
    mutating func addLocal(_ name: [UInt8], _ content: [UInt8], flags: Int = 0, extra: [UInt8] = []) -> Int {
        let offset = local.count
        local += number(0x0403_4B50, 4) + number(20, 2) + number(flags, 2) + number(0, 2) + number(0, 4)
        local += Self.facts(content) + number(name.count, 2) + number(extra.count, 2) + name + extra + content
        return offset
    }

    @discardableResult
    mutating func addLocal(_ name: String, _ content: [UInt8]) -> Int { addLocal(bytes(name), content) }

    /// A file whose sum and sizes stand behind it.
    mutating func addStreamed(_ name: String, _ content: [UInt8], _ descriptor: [UInt8]) {
        let offset = local.count
        local += number(0x0403_4B50, 4) + number(20, 2) + number(8, 2) + number(0, 2) + number(0, 4)
        local += [UInt8](repeating: 0, count: 12) + number(name.utf8.count, 2) + number(0, 2) + bytes(name) + content
        local += descriptor
        point(bytes(name), content, at: offset, flags: 8)
    }

    mutating func point(
        _ name: [UInt8], _ content: [UInt8], at offset: Int, flags: Int = 0, mode: Int = 0, extra: [UInt8] = []
    ) {
        count += 1
        central +=
            number(0x0201_4B50, 4) + number(20, 2) + number(20, 2) + number(flags, 2) + number(0, 2) + number(0, 4)
        central +=
            Self.facts(content) + number(name.count, 2) + number(extra.count, 2)
            + [UInt8](repeating: 0, count: 6)
        central += number(mode << 16, 4) + number(offset, 4) + name + extra
    }

    mutating func point(_ name: String, _ content: [UInt8], at offset: Int) { point(bytes(name), content, at: offset) }

    mutating func add(_ name: [UInt8], _ content: [UInt8], flags: Int = 0) {
        point(name, content, at: addLocal(name, content, flags: flags), flags: flags)
    }

    mutating func add(_ name: String, _ content: [UInt8], flags: Int = 0) { add(bytes(name), content, flags: flags) }

    var finished: [UInt8] {
        local + central + number(0x0605_4B50, 4) + number(0, 4) + number(count, 2) + number(count, 2)
            + number(central.count, 4) + number(local.count, 4) + number(0, 2)
    }
}
