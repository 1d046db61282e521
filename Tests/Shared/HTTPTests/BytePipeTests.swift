// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import Testing

@Suite("Byte pipe")
struct BytePipeTests {
    @Test("A slow reader holds the writer back, and every byte arrives in order")
    func backPressure() async throws {
        let pipe = BytePipe(capacity: 1000)
        let writer = Task {
            for index in 0..<200 { try await pipe.write(Array(repeating: UInt8(index % 256), count: 100)) }
            pipe.finish()
        }
        var expected = 0
        while let chunk = try await pipe.read() {
            #expect(chunk.allSatisfy { Int($0) == expected % 256 })
            expected += 1
        }
        #expect(expected == 200)
        try await writer.value
    }

    @Test("A reader that leaves fails the writer instead of blocking it")
    func readerGone() async {
        let pipe = BytePipe(capacity: 10)
        let writer = Task { while true { try await pipe.write([1, 2, 3]) } }
        pipe.cancel()
        await #expect(throws: NacreError.self) { try await writer.value }
    }

    @Test("An error of the writer reaches the reader after the bytes before it")
    func failure() async throws {
        let pipe = BytePipe()
        try await pipe.write([1])
        pipe.finish(throwing: NacreError("x", "broken"))
        #expect(try await pipe.read() == [1])
        await #expect(throws: NacreError.self) { try await pipe.read() }
    }

    @Test("Cancelling a waiting reader releases it")
    func cancellation() async {
        let pipe = BytePipe()
        let reader = Task { try await pipe.read() }
        reader.cancel()
        await #expect(throws: CancellationError.self) { try await reader.value }
    }
}
