// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore

/// A version of the native app: one to four whole numbers, such as `1.2.0`. What follows a `-` or `+` does not count.
public struct NativeVersion: Hashable, Comparable, Sendable {
    private let parts: [Int]
    /// As written.
    public let text: String

    /// - Throws: `release.native_version`.
    public init(_ text: String) throws(NacreError) {
        let core = text.prefix { $0 != "-" && $0 != "+" }
        let parts = core.split(separator: ".", omittingEmptySubsequences: false).map { part in
            part.utf8.count <= 9 && part.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(part) : nil
        }
        guard (1...4).contains(parts.count), !parts.contains(nil) else {
            throw NacreError("release.native_version", "\"\(text.prefix(40))\" is not a version such as 1.2.0.")
        }
        self.parts = parts.compactMap { $0 } + Array(repeating: 0, count: 4 - parts.count)
        self.text = text
    }

    public static func < (a: NativeVersion, b: NativeVersion) -> Bool { a.parts.lexicographicallyPrecedes(b.parts) }
    public static func == (a: NativeVersion, b: NativeVersion) -> Bool { a.parts == b.parts }
    public func hash(into hasher: inout Hasher) { hasher.combine(parts) }
}

/// The native versions a release runs in: from one on, and below another.
public struct NativeRange: Hashable, Sendable {
    public var minimum: NativeVersion?
    public var below: NativeVersion?

    /// Every version.
    public static var any: NativeRange { NativeRange() }
    private init() {}

    /// - Throws: `release.native_version`.
    public init(minimum: String?, below: String? = nil) throws(NacreError) {
        if let minimum { self.minimum = try NativeVersion(minimum) }
        if let below { self.below = try NativeVersion(below) }
    }

    public func contains(_ version: NativeVersion) -> Bool {
        if let minimum, version < minimum { return false }
        if let below, version >= below { return false }
        return true
    }
}
