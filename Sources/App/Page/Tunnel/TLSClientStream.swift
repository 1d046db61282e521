// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import Synchronization

/// TLS as a client over any stream, so that it also runs through a proxy's tunnel.
final class TLSClientStream: DuplexStream, Sendable {
    private let base: any DuplexStream
    private let session: Mutex<TLSClientSession>
    private let sending = AsyncLock()
    /// A record's worth: what is encrypted at once before it is sent.
    private static let portion = 16_384

    private init(_ base: any DuplexStream, _ session: sending TLSClientSession) {
        self.base = base
        self.session = Mutex(session)
    }

    /// Does the handshake over `base`, which is closed when it fails.
    ///
    /// - Throws: `transport.tls` when the certificate is not trusted or not the host's.
    static func connect(over base: any DuplexStream, host: String, trust: TLSTrust) async throws -> TLSClientStream {
        guard let session = trust.session(host: host) else {
            throw NacreError("transport.tls", "OpenSSL cannot start a session.")
        }
        let stream = TLSClientStream(base, session)
        do {
            while case .needsBytes = try stream.session.withLock({ (s) throws(NacreError) in try s.handshake() }) {
                try await stream.flush()
                try await stream.receive()
            }
            try await stream.flush()
            return stream
        } catch {
            // The alert that tells the server why.
            try? await stream.flush()
            await base.close()
            throw error
        }
    }

    func read() async throws -> [UInt8]? {
        while true {
            switch try session.withLock({ (s) throws(NacreError) in try s.read() }) {
            case .done(let bytes): return bytes
            case .ended: return nil
            case .needsBytes:
                // A reader must not wait for a writer: where both ends send much, neither would read. What TLS itself has
                // to say then leaves with the writer's bytes.
                try await sending.runIfFree { try await drain() }
                guard let more = try await base.read() else { return nil }
                session.withLock { $0.feed(more) }
            }
        }
    }

    func write(_ bytes: [UInt8]) async throws {
        var start = 0
        while start < bytes.count {
            let end = min(start + Self.portion, bytes.count)
            try session.withLock { (s) throws(NacreError) in try s.write(bytes[start..<end]) }
            start = end
            try await flush()
        }
    }

    func finishWriting() async throws {
        session.withLock { $0.endWriting() }
        try await flush()
        try await base.finishWriting()
    }

    func close() async { await base.close() }

    private func receive() async throws {
        guard let more = try await base.read() else {
            throw NacreError("transport.tls", "The server closed the connection during the TLS handshake.")
        }
        session.withLock { $0.feed(more) }
    }

    /// Sends what is encrypted. Both directions come here, and records must leave in the order they were made.
    private func flush() async throws { try await sending.run { try await drain() } }

    private func drain() async throws {
        while true {
            let bytes = session.withLock { $0.takeOutgoing() }
            guard !bytes.isEmpty else { return }
            try await base.write(bytes)
        }
    }
}
