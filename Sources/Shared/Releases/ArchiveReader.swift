// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore

/// Bytes that can be read from anywhere: a file, or memory.
public protocol RandomAccessBytes: Sendable {
    var count: Int { get }
    /// Exactly these bytes.
    ///
    /// - Throws: `file.read`, also when there are fewer.
    func read(_ range: Range<Int>) throws(NacreError) -> [UInt8]
}

extension RandomAccessBytes {
    /// A range, or everything, in pieces that no memory minds.
    ///
    /// - Throws: `file.read`, what `take` throws.
    package func eachPiece(in range: Range<Int>? = nil, _ take: ([UInt8]) throws(NacreError) -> Void) throws(NacreError)
    {
        let range = range ?? 0..<count
        let size = 256 * 1024
        for start in stride(from: range.lowerBound, to: range.upperBound, by: size) {
            try take(try read(start..<min(start + size, range.upperBound)))
        }
    }
}

/// Bytes in memory.
public struct MemoryBytes: RandomAccessBytes {
    private let bytes: [UInt8]
    public var count: Int { bytes.count }

    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    public func read(_ range: Range<Int>) throws(NacreError) -> [UInt8] {
        guard range.lowerBound >= 0, range.upperBound <= bytes.count else {
            throw NacreError("file.read", "There are fewer bytes than were asked for.")
        }
        return Array(bytes[range])
    }
}

/// A strict reader of zip archives (UP-5): it takes what our publisher and the source system's write, and nothing that two
/// readers could take for two things.
///
/// No encryption, no zip64, no parts, no comment, no gap before the directory, no overlapping entries, names in UTF-8, plain
/// files and folders only, stored or deflated; local and central headers must agree. Nothing is read of a file's content
/// until `content(of:_:)`, which gives what the header promises or an error.
public struct ArchiveReader: Sendable {
    /// One file in the archive.
    public struct Entry: Sendable, Equatable {
        public let path: ReleasePath
        /// Bytes when unpacked.
        public let size: Int
        let packed: Range<Int>
        let isDeflated: Bool
        let checksum: UInt32
    }

    /// The files, in the order of the directory.
    public let entries: [Entry]
    private let bytes: any RandomAccessBytes

    /// Reads the archive's directory.
    ///
    /// - Throws: `archive.damaged`, `archive.refused`, `release.path`, `release.duplicate`, `release.too_large`.
    public init(_ bytes: any RandomAccessBytes, limits: ReleaseLimits = ReleaseLimits()) throws(NacreError) {
        self.bytes = bytes
        let directory = try ArchiveDirectory(bytes, limits: limits)
        var entries: [Entry] = []
        var places: [Place] = []
        for header in directory.entries {
            let packed = try header.content(in: bytes)
            places.append(Place(header: header, end: packed.upperBound))
            guard !header.isFolder else { continue }
            entries.append(
                Entry(
                    path: header.path, size: header.size, packed: packed,
                    isDeflated: header.method == ArchiveDirectory.deflated, checksum: header.checksum))
        }
        try Self.refuseGaps(places, end: directory.start, in: bytes)
        // The same rules about names and sizes as for a tree; the digests come with the contents.
        let unknown = TreeDigest(of: [UInt8]())
        _ = try ReleaseTree(
            entries.map { ReleaseFile(path: $0.path, digest: unknown, size: $0.size) }, limits: limits)
        self.entries = entries
    }

    /// Where an entry's packed bytes end; they begin at the header's offset.
    private struct Place {
        let header: ArchiveDirectory.Header
        let end: Int
    }

    /// The entries lie side by side and fill everything before the directory. Over each other, a small archive unpacks to a
    /// huge one; between them, a reader that walks from the start finds files that the directory does not name.
    private static func refuseGaps(
        _ places: [Place], end: Int, in bytes: any RandomAccessBytes
    ) throws(NacreError) {
        let sorted = places.sorted { $0.header.offset < $1.header.offset }
        let starts = sorted.dropFirst().map(\.header.offset) + [end]
        guard sorted.first.map(\.header.offset) ?? end == 0 else {  // guard: archive-before
            throw NacreError("archive.damaged", "The archive does not begin with a file.")
        }
        for (place, next) in zip(sorted, starts) {
            guard (0...16).contains(next - place.end),  // guard: archive-overlap
                place.header.isFollowed(by: try bytes.read(place.end..<max(place.end, next)))
            else {
                throw NacreError("archive.damaged", "The archive's files do not lie side by side.")
            }
        }
    }

    /// Unpacks one file, piece by piece.
    ///
    /// - Throws: `archive.damaged` when it is not what its header promises; what `take` throws.
    public func content(
        of entry: Entry, _ take: ([UInt8]) throws(NacreError) -> Void
    ) throws(NacreError) {
        var check = ArchiveChecksum()
        var produced = 0
        let damaged = NacreError("archive.damaged", "The archive's file \"\(entry.path)\" is damaged.")
        func pass(_ piece: [UInt8]) throws(NacreError) {
            produced += piece.count
            // Before anything more is unpacked: a bomb ends here.
            guard produced <= entry.size else { throw damaged }  // guard: archive-bomb
            check.update(piece)
            try take(piece)
        }
        if entry.isDeflated {
            var inflater = try Inflater()
            try bytes.eachPiece(in: entry.packed) { (piece: [UInt8]) throws(NacreError) in
                try inflater.inflate(piece, pass)
            }
            guard inflater.isFinished else { throw damaged }
        } else {
            try bytes.eachPiece(in: entry.packed, pass)
        }
        guard produced == entry.size, check.value == entry.checksum else { throw damaged }  // guard: archive-checksum
    }
}
