// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreHTTP
import Synchronization

/// A connection after its 101: first the bytes that came with the request, then the socket's.
final class UpgradedStream: DuplexStream {
    private let socket: LoopSocket
    private let stall: Duration
    private let buffered: Mutex<[UInt8]>

    init(_ socket: LoopSocket, buffered: [UInt8], stall: Duration) {
        self.socket = socket
        self.stall = stall
        self.buffered = Mutex(buffered)
    }

    func read() async throws -> [UInt8]? {
        let early = buffered.withLock { bytes in
            defer { bytes = [] }
            return bytes
        }
        return early.isEmpty ? try await socket.read() : early
    }

    func write(_ bytes: [UInt8]) async throws { try await socket.write(bytes, stall: stall, cancellable: true) }

    func finishWriting() async throws { try await socket.finishWriting() }

    func close() async { socket.closeNow() }
}
