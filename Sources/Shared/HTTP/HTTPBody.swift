// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore

/// A message body: none, all at once, or in chunks.
public enum HTTPBody: Sendable {
    case none
    case bytes([UInt8])
    /// Chunks, with the length in bytes where it is known beforehand.
    case stream(ByteStream, length: Int?)

    /// UTF-8 text.
    public static func text(_ text: String) -> HTTPBody { .bytes(Array(text.utf8)) }

    /// The length in bytes where it is known.
    public var length: Int? {
        switch self {
        case .none: 0
        case .bytes(let bytes): bytes.count
        case .stream(_, let length): length
        }
    }

    /// The whole body, but never more than `limit` bytes.
    ///
    /// - Throws: `http.body_too_large` beyond the limit; what the stream throws.
    public func collect(upTo limit: Int) async throws -> [UInt8] {
        let tooLarge = NacreError("http.body_too_large", "The body is larger than \(limit) bytes; send less at once.")
        switch self {
        case .none: return []
        case .bytes(let bytes):
            guard bytes.count <= limit else { throw tooLarge }
            return bytes
        case .stream(let stream, let length):
            if let length, length > limit { throw tooLarge }
            var result: [UInt8] = []
            while let chunk = try await stream.next() {
                guard result.count + chunk.count <= limit else { throw tooLarge }
                result += chunk
            }
            return result
        }
    }

    /// The body as a stream, whatever it is.
    public var stream: ByteStream {
        switch self {
        case .none: return ByteStream { nil }
        case .stream(let stream, _): return stream
        case .bytes(let bytes):
            let once = OnceBytes(bytes)
            return ByteStream { once.take() }
        }
    }
}
