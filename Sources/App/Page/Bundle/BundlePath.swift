// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreHTTP

/// The path of a request as a bundle understands it.
package enum BundlePath {
    /// The longest path that is looked at, in bytes.
    package static let limit = 4096

    /// The decoded, normalised absolute path, or nil when it must not be looked up: dot segments (however encoded),
    /// encoded slashes, backslashes, control characters, broken escapes, or too long.
    ///
    /// Decodes once: a doubly encoded path stays an odd file name, which no tree has.
    package static func normalize(_ raw: String) -> String? {
        guard raw.utf8.count <= limit else { return nil }  // guard: bundle-long-path
        guard raw.utf8.first == UInt8(ascii: "/") else { return nil }
        let parts = raw.split(separator: "/", omittingEmptySubsequences: false)
        var segments: [String] = []
        for (index, part) in parts.enumerated() {
            // Doubled slashes count as one, as static servers have it; a final slash stays.
            if part.isEmpty, index != parts.count - 1 { continue }
            guard let segment = PercentEncoding.decode(part), isSafe(segment) else { return nil }
            segments.append(segment)
        }
        return "/" + segments.joined(separator: "/")
    }

    private static func isSafe(_ segment: String) -> Bool {
        guard segment != ".", segment != ".." else { return false }  // guard: bundle-dot-segments
        guard !segment.contains("/"), !segment.contains("\\") else { return false }  // guard: bundle-separators
        return segment.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }  // guard: bundle-controls
    }

    /// Whether the last segment has no extension, so that it may be a route of a single-page app.
    package static func mayBeRoute(_ path: String) -> Bool {
        guard let slash = path.lastIndex(of: "/") else { return false }
        return !path[slash...].contains(".")
    }
}
