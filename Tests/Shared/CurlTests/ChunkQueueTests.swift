// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Testing

@testable import NacreCurl

@Suite("Chunks that wait")
struct ChunkQueueTests {
    @Test("A quarter of a million single bytes wait as a few chunks, in order")
    func singleBytes() {
        var chunks: [ArraySlice<UInt8>] = []
        let bytes = (0..<262_144).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        for byte in bytes { ChunkQueue.append([byte], to: &chunks) }
        #expect(chunks.count == 16)
        #expect(chunks.joined().elementsEqual(bytes))
    }

    @Test("What has been taken in part grows at its end only")
    func partlyTaken() {
        var chunks: [ArraySlice<UInt8>] = [[1, 2, 3, 4]]
        chunks[0].removeFirst(3)
        ChunkQueue.append([5, 6], to: &chunks)
        #expect(chunks.count == 1)
        #expect(Array(chunks[0]) == [4, 5, 6])
    }

    @Test("Large pieces stay as they are, and nothing adds nothing")
    func largePieces() {
        var chunks: [[UInt8]] = []
        ChunkQueue.append([UInt8](repeating: 1, count: 65_536), to: &chunks)
        ChunkQueue.append([UInt8](), to: &chunks)
        ChunkQueue.append([2], to: &chunks)
        ChunkQueue.append([UInt8](repeating: 3, count: 16_384), to: &chunks)
        #expect(chunks.map(\.count) == [65_536, 1, 16_384])
    }
}
