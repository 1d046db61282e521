// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// Bytes that arrive in chunks. Pulled by one reader, so the reader's pace is the back-pressure.
public struct ByteStream: AsyncSequence, Sendable {
    public typealias Element = [UInt8]
    public typealias Failure = any Error

    private let pull: @Sendable () async throws -> [UInt8]?

    /// A stream whose next chunk comes from `pull`; nil is the end. Only one task may read it.
    public init(_ pull: @escaping @Sendable () async throws -> [UInt8]?) { self.pull = pull }

    /// The next chunk, or nil at the end.
    public func next() async throws -> [UInt8]? { try await pull() }

    public func makeAsyncIterator() -> Iterator { Iterator(stream: self) }

    public struct Iterator: AsyncIteratorProtocol {
        let stream: ByteStream
        public mutating func next() async throws -> [UInt8]? { try await stream.next() }
    }
}
