// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// Bytes that arrived and are not used yet. Taking from the front moves an index; the room is given back on append.
package struct ByteQueue: Sendable {
    private var storage: [UInt8] = []
    private var start = 0

    package init(_ bytes: [UInt8] = []) { storage = bytes }

    package var count: Int { storage.count - start }
    package var isEmpty: Bool { start == storage.count }

    /// The byte `offset` places from the front.
    package subscript(offset: Int) -> UInt8 { storage[start + offset] }

    /// The offset of the first `byte` at or after `offset`.
    package func firstIndex(of byte: UInt8, from offset: Int) -> Int? {
        guard offset < count else { return nil }
        return storage[(start + offset)...].firstIndex(of: byte).map { $0 - start }
    }

    /// The bytes in this range of offsets.
    package func slice(_ range: Range<Int>) -> ArraySlice<UInt8> {
        storage[(start + range.lowerBound)..<(start + range.upperBound)]
    }

    package mutating func append(_ bytes: [UInt8]) {
        if isEmpty {
            storage = bytes
            start = 0
            return
        }
        if start > 0 {
            storage.removeFirst(start)
            start = 0
        }
        storage += bytes
    }

    package mutating func drop(_ count: Int) {
        start += count
        if start == storage.count { removeAll() }
    }

    /// Takes up to `limit` bytes from the front.
    package mutating func take(upTo limit: Int) -> [UInt8] {
        if start == 0, storage.count <= limit {
            defer { storage = [] }
            return storage
        }
        let bytes = Array(slice(0..<min(limit, count)))
        drop(bytes.count)
        return bytes
    }

    package mutating func removeAll() {
        storage = []
        start = 0
    }
}
