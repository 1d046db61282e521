// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CZip
import NacreCore
import NacreReleases

/// An archive that unpacks whole gives what libzip unpacks from the same bytes, and what one finds who walks from its start; never
/// more than it promised and was allowed.
enum ArchiveProperty {
    private static let limits = ReleaseLimits(files: 16, bytes: 1 << 16, listBytes: 1 << 12)

    @Sendable static func check(_ bytes: [UInt8]) throws(Violation) -> Bool {
        guard let reader = try? ArchiveReader(MemoryBytes(bytes), limits: limits) else { return false }
        let promised = reader.entries.map(\.size).reduce(0, +)
        try demand(promised <= limits.bytes && reader.entries.count <= limits.files, "promises \(promised) bytes")
        var files: [Unpacked] = []
        for entry in reader.entries {
            let name = Array(entry.path.text.utf8)
            try demand(ReleasePathProperty.fault(name) == nil, ReleasePathProperty.fault(name) ?? "")
            var content: [UInt8] = []
            let isWhole = (try? reader.content(of: entry) { piece in content += piece }) != nil
            try demand(content.count <= entry.size, "unpacks to more than it promises")
            guard isWhole else { return false }
            try demand(content.count == entry.size, "unpacks to less than it promises")
            files.append(Unpacked(name: name, content: content))
        }
        let other = try libzip(bytes)
        try demand(other == files, "libzip reads \(other.count) files, or others")
        let walked = try walk(bytes)
        try demand(walked == other.map(\.name).sorted(by: precedes), "from the start there are other files")
        return true
    }

    struct Unpacked: Equatable {
        let name: [UInt8]
        let content: [UInt8]
    }

    private static func precedes(_ a: [UInt8], _ b: [UInt8]) -> Bool { a.lexicographicallyPrecedes(b) }

    /// The files, folders left out, as another reader finds and unpacks them.
    private static func libzip(_ bytes: [UInt8]) throws(Violation) -> [Unpacked] {
        var error = zip_error_t()
        zip_error_init(&error)
        defer { zip_error_fini(&error) }
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(bytes.count, 1), alignment: 1)
        defer { copy.deallocate() }
        copy.copyBytes(from: bytes)
        guard let source = zip_source_buffer_create(copy.baseAddress, UInt64(bytes.count), 0, &error) else {
            throw Violation("no source")
        }
        guard let archive = zip_open_from_source(source, Int32(ZIP_RDONLY), &error) else {
            zip_source_free(source)
            throw Violation("libzip does not open it: \(error.zip_err)")
        }
        defer { zip_discard(archive) }
        var files: [Unpacked] = []
        for index in 0..<UInt64(max(zip_get_num_entries(archive, 0), 0)) {
            guard let name = zip_get_name(archive, index, zip_flags_t(ZIP_FL_ENC_RAW)) else {
                throw Violation("libzip finds no name")
            }
            let text = Array(String(cString: name).utf8)
            if text.last == 0x2F { continue }
            guard let file = zip_fopen_index(archive, index, 0) else { throw Violation("libzip does not open a file") }
            defer { zip_fclose(file) }
            var content: [UInt8] = []
            var piece = [UInt8](repeating: 0, count: 8192)
            while true {
                let count = zip_fread(file, &piece, UInt64(piece.count))
                guard count >= 0 else { throw Violation("libzip does not unpack a file") }
                if count == 0 { break }
                content += piece[..<Int(count)]
            }
            files.append(Unpacked(name: text, content: content))
        }
        return files
    }

    /// The names of the files, sorted, as somebody finds them who knows nothing of a directory at the end. Where sizes follow the content, their place
    /// is taken from the next header's.
    private static func walk(_ bytes: [UInt8]) throws(Violation) -> [[UInt8]] {
        func number(_ at: Int, _ count: Int) -> Int {
            (0..<count).reduce(0) { $0 | (at + $1 < bytes.count ? Int(bytes[at + $1]) : 0) << (8 * $1) }
        }
        func isHeader(_ at: Int) -> Bool { [0x0403_4B50, 0x0201_4B50, 0x0605_4B50].contains(number(at, 4)) }
        var (at, names) = (0, [[UInt8]]())
        while number(at, 4) == 0x0403_4B50 {
            let start = at + 30
            let name = Array(bytes[start..<start + number(at + 26, 2)])
            if name.last != 0x2F { names.append(name) }
            let content = start + number(at + 26, 2) + number(at + 28, 2)
            if number(at + 6, 2) & 8 == 0 || number(at + 18, 4) > 0 {
                at = content + number(at + 18, 4)
                if !isHeader(at) { at += isHeader(at + 12) ? 12 : 16 }
            } else {
                at =
                    (content..<bytes.count).first { after in
                        isHeader(after)
                            && [12, 16].contains { number(after - $0 + ($0 - 8), 4) == after - $0 - content }
                    } ?? bytes.count
            }
        }
        try demand(at >= bytes.count || isHeader(at), "something that is no header")
        return names.sorted(by: precedes)
    }
}
