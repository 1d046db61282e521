// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreCrypto
import NacreServer

/// An archive that is taken holds plain names, each once, and exactly the bytes that stand between their headers.
enum TarProperty {
    @Sendable static func check(_ bytes: [UInt8]) throws(Violation) -> Bool {
        let path = NSTemporaryDirectory() + "nacre-fuzz-\(getpid())-\(fingerprint(bytes)).tar"
        guard FileManager.default.createFile(atPath: path, contents: Data(bytes)) else { throw Violation("no file") }
        defer { try? FileManager.default.removeItem(atPath: path) }
        var asked: [String] = []
        let found = try? TarArchive.read(path) { name in
            asked.append(name)
            return nil
        }
        // Who restores is asked for each name before the archive turns out to be damaged.
        try demand(asked.allSatisfy(isPlain), "asked for a name that leads elsewhere")
        guard let entries = found else { return false }
        try demand(entries.map(\.name) == asked, "other entries than were asked for")
        try demand(Set(entries.map { Array($0.name.utf8) }).count == entries.count, "one name twice")
        var offset = 0
        for entry in entries {
            try demand(entry.size <= UInt64(bytes.count), "more than there is")
            let start = offset + TarArchive.block
            let end = start + Int(entry.size)
            try demand(end <= bytes.count, "more than there is")
            try demand(entry.digest == Hex.encode(SHA256.hash(bytes[start..<end])), "other bytes")
            offset = start + (Int(entry.size) + TarArchive.block - 1) / TarArchive.block * TarArchive.block
        }
        try demand(offset + TarArchive.block <= bytes.count, "no end")
        try demand(bytes[offset..<(offset + TarArchive.block)].allSatisfy { $0 == 0 }, "no end")
        return true
    }

    private static func isPlain(_ name: String) -> Bool {
        let allowed = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_".utf8)
        return !name.isEmpty && name.utf8.count <= 100 && name.utf8.first != UInt8(ascii: ".")
            && name.utf8.allSatisfy(allowed.contains)
    }
}
