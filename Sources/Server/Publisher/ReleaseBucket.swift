// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// Where releases are put: a folder, or an S3 store (UP-2).
package protocol ReleaseBucket: Sendable {
    /// For messages, such as `the folder /srv/updates`.
    var name: String { get }

    /// The bytes under a key, at most `limit` of them, or nil.
    ///
    /// - Throws: `bucket.*`; `bucket.too_large` beyond the limit.
    func get(_ key: String, upTo limit: Int) async throws -> BucketItem?

    /// Copies what lies under a key into a file.
    ///
    /// - Returns: false when there is nothing.
    func download(_ key: String, to path: String, upTo limit: Int) async throws -> Bool

    /// The size of what lies under a key, or nil.
    func size(_ key: String) async throws -> Int?

    /// Puts bytes under a key, whole or not at all.
    ///
    /// - Returns: false, and nothing was changed, when the condition does not hold. Whether the store asks for it at all
    ///   is said by `keepsConditions`.
    func put(_ key: String, _ content: BucketContent, _ condition: PutCondition) async throws -> Bool

    /// The keys that begin so, ascending.
    func list(_ prefix: String) async throws -> [String]

    /// Takes a key away; only what was never announced is.
    func remove(_ key: String) async throws

    /// Whether the store keeps the conditions of `put`, also between two publishers at once.
    func keepsConditions(_ channel: String) async throws -> Bool

    /// Makes the bucket and its rights (UP-12), also where it is there already. Returns what was done, a line each.
    func prepare() async throws -> [String]
}

/// What lies under a key.
package struct BucketItem: Sendable {
    package var bytes: [UInt8]
    /// Changes with the bytes.
    package var tag: String

    package init(bytes: [UInt8], tag: String) { (self.bytes, self.tag) = (bytes, tag) }
}

/// When a put counts.
package enum PutCondition: Sendable, Equatable {
    case always
    /// Nothing lies there.
    case ifAbsent
    /// What lies there still has this tag.
    case ifTag(String)
}

/// What to put.
package enum BucketContent: Sendable {
    case bytes([UInt8])
    /// A file that is not changed meanwhile.
    case file(String, size: Int, sha256: [UInt8])

    package var size: Int {
        switch self {
        case .bytes(let bytes): bytes.count
        case .file(_, let size, _): size
        }
    }
}

/// How what lies under a key is served (UP-12): the manifest is asked for anew each time, the rest never changes.
package struct ServedAs: Sendable, Equatable {
    package var type: String
    package var cacheControl: String

    package init(_ key: String) {
        let isMutable = ["/manifest.json", "/staged.json", "/freshness.json"].contains { key.hasSuffix($0) }
        cacheControl = isMutable ? "no-cache" : "public, max-age=31536000, immutable"
        type =
            key.hasSuffix(".json")
            ? "application/json" : key.hasSuffix(".zip") ? "application/zip" : "application/octet-stream"
    }
}
