// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore

/// The central directory of a zip archive (APPNOTE 4.3.12, 4.3.16), read strictly.
struct ArchiveDirectory {
    static let stored = 0
    static let deflated = 8

    /// Files and folders.
    let entries: [Header]
    /// Where the directory begins, and the files end.
    let start: Int

    /// What the directory says of one file.
    struct Header {
        let path: ReleasePath
        let isFolder: Bool
        let name: [UInt8]
        let flags: Int
        let method: Int
        let checksum: UInt32
        let packedSize: Int
        let size: Int
        let offset: Int
    }

    private static let endLength = 22
    private static let headerLength = 46
    fileprivate static let localLength = 30

    static func damaged(_ what: String) -> NacreError {
        NacreError("archive.damaged", "The archive is damaged: \(what).")
    }

    init(_ bytes: any RandomAccessBytes, limits: ReleaseLimits) throws(NacreError) {
        guard bytes.count >= Self.endLength else { throw Self.damaged("it is too short") }
        // Without a comment the end stands at the very end: nothing has to be looked for, and nothing hides behind it.
        let end = Fields(try bytes.read(bytes.count - Self.endLength..<bytes.count))
        guard end.number(0, 4) == 0x0605_4B50, end.number(20, 2) == 0 else {
            throw Self.damaged("its end is missing, or something follows it")
        }
        let count = end.number(10, 2)
        let size = end.number(12, 4)
        start = end.number(16, 4)
        guard end.number(4, 2) == 0, end.number(6, 2) == 0, end.number(8, 2) == count else {
            throw NacreError("archive.refused", "The archive is one of several parts; these are not read.")
        }
        guard count != 0xFFFF, start != 0xFFFF_FFFF else {
            throw NacreError("archive.refused", "The archive is of the kind zip64; these are not read.")
        }
        guard start + size == bytes.count - Self.endLength else {  // guard: archive-directory-place
            throw Self.damaged("its directory is not where it should be")
        }
        guard count <= limits.files * 2, size <= limits.listBytes else {
            throw NacreError("release.too_large", "The archive has too many files.")
        }
        let directory = try bytes.read(start..<start + size)
        var entries: [Header] = []
        var at = 0
        for _ in 0..<count {
            guard at + Self.headerLength <= directory.count else { throw Self.damaged("its directory ends too early") }
            let fields = Fields(directory[at..<at + Self.headerLength])
            guard fields.number(0, 4) == 0x0201_4B50 else { throw Self.damaged("its directory is not one") }
            let (nameLength, extra, comment) = (fields.number(28, 2), fields.number(30, 2), fields.number(32, 2))
            let next = at + Self.headerLength + nameLength + extra + comment
            guard next <= directory.count else { throw Self.damaged("its directory ends too early") }
            let name = Array(directory[at + Self.headerLength..<at + Self.headerLength + nameLength])
            let others = directory[at + Self.headerLength + nameLength..<next - comment]
            try Self.check(extra: Array(others))
            entries.append(try Self.header(name, fields))
            at = next
        }
        guard at == directory.count else { throw Self.damaged("its directory has more than it counts") }
        self.entries = entries
    }

    /// Extra fields that are none, and among them Info-ZIP's other name for a file, which some readers take for the true one.
    fileprivate static func check(extra: [UInt8]) throws(NacreError) {
        var at = 0
        while at + 4 <= extra.count {
            let field = Fields(extra[at..<at + 4])
            guard field.number(0, 2) != 0x7075 else {  // guard: archive-second-name
                throw NacreError("archive.refused", "The archive has a file with two names.")
            }
            at += 4 + field.number(2, 2)
        }
        // Up to three zeros at the end are what some tools align contents with.
        guard at <= extra.count, extra[at...].allSatisfy({ $0 == 0 }) else {  // guard: archive-extra
            throw damaged("its extra fields are none")
        }
    }

    private static func header(_ name: [UInt8], _ fields: Fields) throws(NacreError) -> Header {
        let flags = fields.number(8, 2)
        guard let text = String(validating: name, as: UTF8.self) else {
            throw NacreError("archive.refused", "The archive has a name that is not UTF-8.")
        }
        guard flags & 0x2041 == 0 else {  // guard: archive-encrypted
            throw NacreError("archive.refused", "The archive's file \"\(text.prefix(80))\" is encrypted.")
        }
        let method = fields.number(10, 2)
        guard method == stored || method == deflated else {
            throw NacreError(
                "archive.refused", "The archive's file \"\(text.prefix(80))\" is packed in a way that is not read.")
        }
        // The upper half holds a Unix mode, whichever system is named: links, devices and pipes are none of a release's
        // business, and another reader may look at it.
        let kind = fields.number(38, 4) >> 16 & 0xF000
        guard kind == 0 || kind == 0x8000 || kind == 0x4000 else {  // guard: archive-link
            throw NacreError(
                "archive.refused", "The archive's \"\(text.prefix(80))\" is a link or no file at all.")
        }
        let (packedSize, size) = (fields.number(20, 4), fields.number(24, 4))
        guard packedSize != 0xFFFF_FFFF, size != 0xFFFF_FFFF else {
            throw NacreError("archive.refused", "The archive is of the kind zip64; these are not read.")
        }
        let isFolder = name.last == UInt8(ascii: "/")
        // Some readers go by the slash, some by the mode.
        guard kind == 0 || (kind == 0x4000) == isFolder else {  // guard: archive-folder-mode
            throw NacreError("archive.refused", "The archive's \"\(text.prefix(80))\" is a file and a folder.")
        }
        guard !isFolder || size == 0 else { throw damaged("a folder has content") }
        // A folder's name counts, too: one above the tree is as good a sign as a file there.
        let path = try ReleasePath(isFolder ? text.dropLast() : Substring(text))
        guard method == deflated || packedSize == size else { throw damaged("a stored file has two sizes") }
        return Header(
            path: path, isFolder: isFolder, name: name, flags: flags, method: method,
            checksum: UInt32(fields.number(16, 4)), packedSize: packedSize, size: size, offset: fields.number(42, 4))
    }
}

extension ArchiveDirectory.Header {
    /// Where the packed bytes lie; the local header must say the same as the directory (APPNOTE 4.3.7).
    func content(in bytes: any RandomAccessBytes) throws(NacreError) -> Range<Int> {
        let length = ArchiveDirectory.localLength
        let fault = ArchiveDirectory.damaged("what stands before \"\(path)\" does not agree with the directory")
        guard offset >= 0, offset + length <= bytes.count else { throw fault }
        let local = Fields(try bytes.read(offset..<offset + length))
        let nameEnd = offset + length + local.number(26, 2)
        let start = nameEnd + local.number(28, 2)
        guard local.number(0, 4) == 0x0403_4B50, nameEnd <= bytes.count, start + packedSize <= bytes.count,
            try bytes.read(offset + length..<nameEnd) == name,  // guard: archive-local-name
            local.number(6, 2) & 0x2049 == flags & 0x2049, local.number(8, 2) == method
        else { throw fault }
        try ArchiveDirectory.check(extra: try bytes.read(nameEnd..<start))
        // A writer that streams knows the sizes only afterwards, and leaves them empty here.
        let said = (local.number(14, 4), local.number(18, 4), local.number(22, 4))
        let isStreamed = flags & 8 != 0 && said == (0, 0, 0)
        // guard: archive-local-sizes
        guard isStreamed || said == (Int(checksum), packedSize, size) else { throw fault }
        return start..<start + packedSize
    }

    /// Whether what stands between this file and the next says of it what the directory says (APPNOTE 4.3.9): nothing, or
    /// its sum and sizes where it was streamed, with their mark or without.
    func isFollowed(by bytes: [UInt8]) -> Bool {
        if bytes.isEmpty { return true }
        guard flags & 8 != 0, bytes.count == 12 || bytes.count == 16 else { return false }
        let fields = Fields(bytes.suffix(12))
        let said = (fields.number(0, 4), fields.number(4, 4), fields.number(8, 4))
        let isMarked = bytes.count == 12 || Fields(bytes.prefix(4)).number(0, 4) == 0x0807_4B50
        return isMarked && said == (Int(checksum), packedSize, size)  // guard: archive-descriptor
    }
}

/// Little-endian numbers at fixed places.
private struct Fields {
    private let bytes: [UInt8]
    init(_ bytes: some Collection<UInt8>) { self.bytes = Array(bytes) }

    func number(_ at: Int, _ count: Int) -> Int {
        var value = 0
        for index in (at..<at + count).reversed() { value = value << 8 | Int(bytes[index]) }
        return value
    }
}
