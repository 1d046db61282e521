// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore

/// Takes a tree's stream (what `TreePatch.apply` gives) apart into files, each checked against the signed name of the tree
/// before it is handed on.
public struct TreeStreamReader: Sendable {
    /// The tree, once its list is here.
    public private(set) var tree: ReleaseTree?

    private let facts: ReleasePayload.TreeFacts
    private let limits: ReleaseLimits
    private var waiting: [UInt8] = []
    private var order: [ReleaseFile] = []
    private var next = 0

    /// The bytes of the whole stream.
    public var size: Int { facts.listBytes + facts.bytes }

    /// A reader of the stream of the tree that was signed.
    public init(_ facts: ReleasePayload.TreeFacts, limits: ReleaseLimits = ReleaseLimits()) throws(NacreError) {
        guard facts.listBytes <= limits.listBytes, facts.bytes <= limits.bytes else {  // guard: stream-size
            throw NacreError("release.too_large", "The release unpacks to more than an app may take.")
        }
        self.facts = facts
        self.limits = limits
    }

    private static let damaged = NacreError("patch.damaged", "The patch does not give the release that was signed.")

    /// Takes the next bytes; `put` gets each file when it is whole and right, in the stream's order.
    ///
    /// - Throws: `patch.damaged`, `release.*`, what `put` throws.
    public mutating func take(
        _ piece: [UInt8], _ put: (ReleaseFile, [UInt8]) throws(NacreError) -> Void
    ) throws(NacreError) {
        waiting += piece
        if tree == nil {
            guard waiting.count >= facts.listBytes else { return }
            let list = Array(waiting[..<facts.listBytes])
            guard TreeDigest(of: list) == facts.digest else { throw Self.damaged }  // guard: stream-list
            let tree = try ReleaseTree(list: list, limits: limits)
            guard tree.bytes == facts.bytes, tree.files.count == facts.files else { throw Self.damaged }
            self.tree = tree
            order = TreeOrder.sorted(tree.files)
            waiting.removeFirst(facts.listBytes)
        }
        var at = 0
        while next < order.count, waiting.count - at >= order[next].size {
            let file = order[next]
            let content = Array(waiting[at..<at + file.size])
            guard TreeDigest(of: content) == file.digest else { throw Self.damaged }  // guard: stream-file
            try put(file, content)
            at += file.size
            next += 1
        }
        waiting.removeFirst(at)
    }

    /// The tree, at the stream's end.
    ///
    /// - Throws: `patch.damaged` when the stream ended early or has more.
    public func finish() throws(NacreError) -> ReleaseTree {
        guard let tree, next == order.count, waiting.isEmpty else { throw Self.damaged }  // guard: stream-end
        return tree
    }
}

extension TreePatch {
    /// Unpacks a patch into the files of the release that was signed; `put` gets each when it is whole and right.
    ///
    /// - Parameter base: the stream of the tree that the patch starts from.
    /// - Throws: `patch.damaged`, `release.*`, what `put` throws; then nothing of it is to be used.
    public static func apply(
        _ patch: [UInt8], to base: [UInt8], giving facts: ReleasePayload.TreeFacts,
        limits: ReleaseLimits = ReleaseLimits(), _ put: (ReleaseFile, [UInt8]) throws(NacreError) -> Void
    ) throws(NacreError) -> ReleaseTree {
        var reader = try TreeStreamReader(facts, limits: limits)
        try apply(patch, to: base, size: reader.size) { (piece: [UInt8]) throws(NacreError) in
            try reader.take(piece, put)
        }
        return try reader.finish()
    }
}

extension ArchiveReader {
    /// Unpacks every file. `put` gets each when it is whole, before the tree is known; where this throws, nothing of it is
    /// to be used.
    ///
    /// - Parameter digest: the signed name of the tree; nil where only the archive is signed.
    /// - Throws: `archive.damaged`, `release.archive` when the archive holds another tree; what `put` throws.
    public func unpack(
        tree digest: TreeDigest?, limits: ReleaseLimits = ReleaseLimits(),
        _ put: (ReleaseFile, [UInt8]) throws(NacreError) -> Void
    ) throws(NacreError) -> ReleaseTree {
        var files: [ReleaseFile] = []
        for entry in entries {
            var content: [UInt8] = []
            try self.content(of: entry) { (piece: [UInt8]) throws(NacreError) in content += piece }
            let file = ReleaseFile(path: entry.path, digest: TreeDigest(of: content), size: content.count)
            try put(file, content)
            files.append(file)
        }
        let tree = try ReleaseTree(files, limits: limits)
        guard digest == nil || tree.digest == digest else {  // guard: archive-tree
            throw NacreError("release.archive", "The archive does not hold the release that was signed.")
        }
        return tree
    }
}
