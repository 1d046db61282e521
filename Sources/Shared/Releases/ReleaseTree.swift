// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore
import NacreCrypto

/// One file of a release.
public struct ReleaseFile: Hashable, Sendable {
    /// Where it stands.
    public let path: ReleasePath
    /// SHA-256 of its bytes.
    public let digest: TreeDigest
    /// Bytes.
    public let size: Int

    /// A file as it was measured.
    public init(path: ReleasePath, digest: TreeDigest, size: Int) {
        self.path = path
        self.digest = digest
        self.size = size
    }
}

/// A SHA-256 digest; text form 64 lower-case hexadecimal digits.
public struct TreeDigest: Hashable, Sendable, CustomStringConvertible {
    /// The 32 bytes.
    public let bytes: [UInt8]
    public var description: String { Hex.encode(bytes) }

    /// The digest of these bytes.
    public init(of content: some Collection<UInt8>) { bytes = SHA256.hash(content) }

    /// A digest that was computed elsewhere; nil unless it has 32 bytes.
    public init?(bytes: [UInt8]) {
        guard bytes.count == SHA256.length else { return nil }
        self.bytes = bytes
    }

    /// A digest as written; upper case is refused, so that a tree has one name.
    public init?(_ text: some StringProtocol) {
        guard text.utf8.count == 64, !text.utf8.contains(where: { (0x41...0x5A).contains($0) }),
            let bytes = Hex.decode(text)
        else { return nil }
        self.bytes = bytes
    }
}

/// What a tree may cost at most; a release beyond it is not unpacked.
public struct ReleaseLimits: Sendable {
    public var files: Int
    /// All files together, unpacked.
    public var bytes: Int
    /// The text of the file list.
    public var listBytes: Int

    public init(files: Int = 50_000, bytes: Int = 1_000_000_000, listBytes: Int = 16_000_000) {
        self.files = files
        self.bytes = bytes
        self.listBytes = listBytes
    }
}

/// The files of a release, sorted by path: its canonical form, from which its name follows.
///
/// The name is the SHA-256 of the list's text, a line `<digest> <size> <path>` for each file. So whoever knows the name
/// can check the list, and with the list every file, whichever way they came.
public struct ReleaseTree: Hashable, Sendable {
    /// By path, ascending.
    public let files: [ReleaseFile]
    /// All files together.
    public let bytes: Int

    /// A tree of these files, in any order.
    ///
    /// - Throws: `release.duplicate` for a path that stands twice, in two spellings of one name, or as a file and as a
    ///   folder; `release.too_large`.
    public init(_ files: [ReleaseFile], limits: ReleaseLimits = ReleaseLimits()) throws(NacreError) {
        guard files.count <= limits.files else {  // guard: tree-files
            throw NacreError("release.too_large", "The release has \(files.count) files; \(limits.files) are allowed.")
        }
        var bytes = 0
        var names: Set<String> = []
        var folders: Set<String> = []
        for file in files {
            let (sum, overflow) = bytes.addingReportingOverflow(file.size)
            guard file.size >= 0, !overflow, sum <= limits.bytes else {  // guard: tree-bytes
                throw NacreError(
                    "release.too_large", "The release unpacks to more than \(limits.bytes) bytes; that is too much.")
            }
            bytes = sum
            guard names.insert(file.path.collisionKey).inserted else {  // guard: tree-collision
                throw NacreError(
                    "release.duplicate",
                    "The release has \"\(file.path)\" twice, or in two spellings that some systems take for one.")
            }
            for folder in file.path.folders { folders.insert(ReleasePath.collisionKey(folder)) }
        }
        guard names.isDisjoint(with: folders) else {  // guard: tree-file-and-folder
            throw NacreError("release.duplicate", "The release has a name that is a file and a folder.")
        }
        self.files = files.sorted { $0.path < $1.path }
        self.bytes = bytes
    }

    /// The text from which the name follows.
    public var list: [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(files.count * 120)
        for file in files { out += Array("\(file.digest) \(file.size) \(file.path.text)\n".utf8) }
        return out
    }

    /// The tree's name.
    public var digest: TreeDigest { TreeDigest(of: list) }

    /// The file at a path, by halving.
    public subscript(path: ReleasePath) -> ReleaseFile? {
        var low = 0
        var high = files.count
        while low < high {
            let middle = (low + high) / 2
            if files[middle].path < path { low = middle + 1 } else { high = middle }
        }
        return low < files.count && files[low].path == path ? files[low] : nil
    }
}

extension ReleaseTree {
    /// Reads a list's text; only the canonical form is taken.
    ///
    /// - Throws: `release.list`, `release.path`, `release.duplicate`, `release.too_large`.
    public init(list: [UInt8], limits: ReleaseLimits = ReleaseLimits()) throws(NacreError) {
        let fault = NacreError("release.list", "The release's list of files is damaged.")
        guard list.count <= limits.listBytes else {  // guard: list-size
            throw NacreError("release.too_large", "The release's list of files is too long.")
        }
        guard let text = String(validating: list, as: UTF8.self), list.isEmpty || list.last == UInt8(ascii: "\n") else {
            throw fault
        }
        var files: [ReleaseFile] = []
        for line in text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: true) {
            let parts = line.split(separator: UInt8(ascii: " "), maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3, let digest = TreeDigest(Substring(parts[0])),
                let size = Int(Substring(parts[1])), size >= 0
            else { throw fault }
            files.append(ReleaseFile(path: try ReleasePath(Substring(parts[2])), digest: digest, size: size))
        }
        try self.init(files, limits: limits)
        // One tree, one text: order, spelling of numbers and empty lines are not free.
        guard self.list == list else { throw fault }  // guard: list-canonical
    }
}
