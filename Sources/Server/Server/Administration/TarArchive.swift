// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreCrypto

/// Reads and writes plain files in a tar archive (POSIX ustar; sizes beyond 8 GB as GNU tar writes them). Blocks.
package enum TarArchive {
    package static let block = 512
    private static let chunk = 1 << 20

    /// A file in an archive.
    package struct Entry: Sendable, Equatable {
        package let name: String
        package let size: UInt64
        /// SHA-256 of its content, in hexadecimal.
        package let digest: String
    }

    /// Whether a name may stand in an archive of ours: one part, nothing hidden, nothing that leads elsewhere.
    static func isPlain(_ name: String) -> Bool {
        guard !name.isEmpty, name.utf8.count <= 100, name.first != "." else { return false }
        return name.utf8.allSatisfy {
            switch $0 {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }

    /// Hashes a file.
    static func digest(of path: String) throws -> (size: UInt64, digest: String) {
        let file = try FileHandle(forReadingFrom: URL(filePath: path))
        defer { try? file.close() }
        var hasher = SHA256Hasher()
        var size: UInt64 = 0
        while let data = try file.read(upToCount: chunk), !data.isEmpty {
            hasher.update([UInt8](data))
            size += UInt64(data.count)
        }
        return (size, Hex.encode(hasher.finish()))
    }

    // MARK: Writing

    /// Adds the content of `path` under `name`.
    static func append(_ name: String, file path: String, to archive: FileHandle, at moment: Instant) throws {
        let file = try FileHandle(forReadingFrom: URL(filePath: path))
        defer { try? file.close() }
        let size = try file.seekToEnd()
        try file.seek(toOffset: 0)
        try archive.write(contentsOf: Data(header(name, size: size, at: moment)))
        var rest = size
        while rest > 0, let data = try file.read(upToCount: Int(min(rest, UInt64(chunk)))), !data.isEmpty {
            try archive.write(contentsOf: data)
            rest -= UInt64(data.count)
        }
        guard rest == 0 else { throw NacreError("backup.changed", "\(path) shrank while it was read; try again.") }
        try archive.write(contentsOf: Data(count: padding(size)))
    }

    /// Adds `bytes` under `name`.
    static func append(_ name: String, _ bytes: [UInt8], to archive: FileHandle, at moment: Instant) throws {
        try archive.write(contentsOf: Data(header(name, size: UInt64(bytes.count), at: moment)))
        try archive.write(contentsOf: Data(bytes) + Data(count: padding(UInt64(bytes.count))))
    }

    /// Ends the archive.
    static func finish(_ archive: FileHandle) throws {
        try archive.write(contentsOf: Data(count: 2 * block))
        try archive.synchronize()
    }

    private static func padding(_ size: UInt64) -> Int { (block - Int(size % UInt64(block))) % block }

    private static func header(_ name: String, size: UInt64, at moment: Instant) -> [UInt8] {
        var header = [UInt8](repeating: 0, count: block)
        func put(_ text: String, _ offset: Int) {
            for (i, byte) in text.utf8.enumerated() { header[offset + i] = byte }
        }
        func octal(_ value: UInt64, _ width: Int) -> String {
            let digits = String(value, radix: 8)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        put(name, 0)
        put(octal(0o600, 7), 100)
        put(octal(0, 7), 108)
        put(octal(0, 7), 116)
        if size < 1 << 33 {
            put(octal(size, 11), 124)
        } else {
            header[124] = 0x80
            for i in 0..<8 { header[128 + i] = UInt8(truncatingIfNeeded: size >> (56 - 8 * UInt64(i))) }
        }
        put(octal(UInt64(max(0, moment.seconds)), 11), 136)
        put("        ", 148)
        put("0", 156)
        put("ustar\u{0}00", 257)
        put(octal(header.reduce(0) { $0 + UInt64($1) }, 6) + "\u{0} ", 148)
        return header
    }

    // MARK: Reading

    /// Goes through the archive; `body` gets each entry's name and may answer a path to write its content to.
    ///
    /// - Throws: `backup.damaged` for anything that we would not have written.
    package static func read(_ path: String, _ body: (String) throws -> String?) throws -> [Entry] {
        let archive = try FileHandle(forReadingFrom: URL(filePath: path))
        defer { try? archive.close() }
        var entries: [Entry] = []
        while true {
            let header = [UInt8](try archive.read(upToCount: block) ?? Data())
            guard header.count == block else { throw damaged(path, "it ends early") }  // guard: tar-truncated
            if header.allSatisfy({ $0 == 0 }) { return entries }
            let (name, size) = try parse(header, path)
            guard !entries.contains(where: { $0.name == name }), entries.count < 1000 else {
                throw damaged(path, "\(name) stands twice")
            }
            var out: FileHandle?
            if let place = try body(name) {
                guard
                    FileManager.default.createFile(
                        atPath: place, contents: nil, attributes: [.posixPermissions: 0o600])
                else { throw NacreError("restore.write", "\(place) cannot be written; check the folder and the disk.") }
                out = try FileHandle(forWritingTo: URL(filePath: place))
            }
            defer { try? out?.close() }
            var hasher = SHA256Hasher()
            var rest = size
            while rest > 0 {
                guard let data = try archive.read(upToCount: Int(min(rest, UInt64(chunk)))), !data.isEmpty else {
                    throw damaged(path, "\(name) ends early")
                }
                hasher.update([UInt8](data))
                try out?.write(contentsOf: data)
                rest -= UInt64(data.count)
            }
            try out?.synchronize()
            _ = try archive.read(upToCount: padding(size))
            entries.append(Entry(name: name, size: size, digest: Hex.encode(hasher.finish())))
        }
    }

    private static func parse(_ header: [UInt8], _ path: String) throws(NacreError) -> (name: String, size: UInt64) {
        let text = { (range: Range<Int>) in
            String(decoding: header[range].prefix { $0 != 0 && $0 != 0x20 }, as: UTF8.self)
        }
        let sum = header.enumerated().reduce(0) { $0 + ((148..<156).contains($1.offset) ? 32 : Int($1.element)) }
        guard Int(text(148..<156), radix: 8) == sum else { throw damaged(path, "a header's sum is wrong") }
        let name = text(0..<100)
        // Only what we write ourselves: a plain file directly in the archive (no links, no folders, no way out).
        guard isPlain(name), header[156] == UInt8(ascii: "0") else {  // guard: tar-names
            throw damaged(path, "it holds something that is no backup's")
        }
        if header[124] == 0x80 { return (name, header[128..<136].reduce(0) { $0 << 8 | UInt64($1) }) }
        guard let size = UInt64(text(124..<136), radix: 8) else { throw damaged(path, "a size is wrong") }
        return (name, size)
    }

    static func damaged(_ path: String, _ why: String) -> NacreError {
        NacreError("backup.damaged", "\(path) is not a whole backup (\(why)); use another one.")
    }
}
