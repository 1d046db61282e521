// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreHTTP

/// The tree of files that the page's origin serves: the built-in bundle, an update, or a development server.
package protocol BundleSource: Sendable {
    /// A stamp of the running tree for the version report (UP-11).
    var stamp: String { get }
    /// The file at a decoded, normalised absolute path such as `/assets/app.js`, or nil when there is none.
    /// Never leaves the tree, whatever the path or its links say.
    func file(at path: String) async throws -> BundleFile?
}

/// One file of a bundle.
package struct BundleFile: Sendable {
    /// Bytes in all.
    package let size: Int
    /// The media type.
    package let type: String
    /// A strong validator without quotes.
    package let tag: String
    /// The bytes of a range, as a stream.
    package let read: @Sendable (Range<Int>) -> ByteStream

    package init(size: Int, type: String, tag: String, read: @escaping @Sendable (Range<Int>) -> ByteStream) {
        self.size = size
        self.type = type
        self.tag = tag
        self.read = read
    }
}

/// Stands between the page and the API host, in order: the offline engine, the media cache (later), the native transport.
package protocol PageInterceptor: Sendable {
    /// Answers itself, or calls `next`.
    func intercept(
        _ request: HTTPRequest, next: @Sendable (HTTPRequest) async throws -> HTTPResponse
    ) async throws -> HTTPResponse
}

/// Whether the API can be reached, as far as the last exchanges tell.
package enum Reachability: String, Sendable {
    case unknown
    case reachable
    case unreachable
}
