// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
package import NacreHTTP
import Synchronization

/// HTTP/1.1 to an upstream, on the event loop of whoever asks: no thread is crossed between client and upstream.
///
/// Strict about answers, streaming both ways at the reader's pace, with Upgrade. Redirects are never followed, cookies never
/// kept. A request that found a kept connection stale is sent once more on a new one if it is a GET or HEAD without a
/// body of which no answer has begun; nothing else is ever repeated.
package final class LoopTransport: HTTPTransport {
    /// How it behaves.
    package struct Configuration: Sendable {
        /// How long connecting (name look-up, TCP, TLS) may take. Default 10 s.
        package var connectTime: Duration = .seconds(10)
        /// How long the head of the answer may take, counted from the last part of the upload. Default 60 s.
        package var headTime: Duration = .seconds(60)
        /// How long the upstream may stand still inside a body, either way. Event streams may be silent. Default 60 s.
        package var stall: Duration = .seconds(60)
        /// Connections kept per event loop. Default 64; 0 keeps none.
        package var kept = 64
        /// How long an unused connection is kept. Default 30 s.
        package var keptTime: Duration = .seconds(30)
        /// Sizes of an answer's head.
        package var limits = ResponseLimits()
        /// A PEM file of authorities instead of the system's.
        package var authorities: String?

        /// The defaults.
        package init() {}
    }

    private let configuration: Configuration
    private let loops: EventLoops
    private let pool: ConnectionPool
    private let tls = Mutex<TLSContext?>(nil)
    private let addresses = Mutex<[String: (list: [SocketAddress], end: Deadline)]>([:])

    /// A transport for callers on these loops; callers elsewhere get one of them in turn.
    package init(configuration: Configuration = Configuration(), loops: EventLoops) {
        self.configuration = configuration
        self.loops = loops
        pool = ConnectionPool(limit: configuration.kept, idle: configuration.keptTime)
    }

    /// Closes the connections that are kept.
    package func closeIdle() { pool.closeAll() }

    /// How many connections are kept at present.
    package var idleCount: Int { pool.count }

    package func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let loop = EventLoop.current ?? loops.next()
        let head = try UpstreamRequest.head(request)
        let place = ConnectionPool.Place(
            loop: ObjectIdentifier(loop), origin: request.scheme + "://" + request.authority)
        if configuration.kept > 0, !UpstreamRequest.isUpgrade(request), let kept = pool.take(place) {
            let isRepeatable: Bool
            if case .none = request.body {
                isRepeatable = request.method == .get || request.method == .head
            } else {
                isRepeatable = false
            }
            // Bytes that nobody asked for would be the next person's answer; and what may not be sent twice goes only where
            // the other side is known not to have left.
            if kept.isQuiet {  // guard: upstream-stale
                do { return try await exchange(request, head, kept, place) } catch is Stale where isRepeatable {
                    // Closed by the other side before it saw the request.
                } catch is Stale {
                    throw UpstreamHead.fault("it closed the connection before its answer")
                }
            } else {
                kept.closeNow()
            }
        }
        let socket = try await connect(request, loop)
        do { return try await exchange(request, head, socket, place) } catch is Stale {
            throw UpstreamHead.fault("it closed the connection before its answer")
        }
    }

    /// The connection ended before the first byte of an answer.
    private struct Stale: Error {}

    // MARK: Connecting

    private func connect(_ request: HTTPRequest, _ loop: EventLoop) async throws -> LoopSocket {
        let origin = try Origin("\(request.scheme)://\(request.authority)")
        let end = Deadline.after(configuration.connectTime)
        let socket: LoopSocket
        do {
            socket = try await LoopSocket.connect(
                to: try await resolved(origin), named: origin.authority, on: loop, within: configuration.connectTime)
        } catch let error as NacreError {
            addresses.withLock { $0[origin.authority] = nil }
            throw NacreError(
                "transport.unreachable", "\(origin.authority) cannot be reached; check that it runs.", cause: error)
        }
        guard origin.scheme == "https" else { return socket }
        do {
            try await socket.startTLS(try context(), host: origin.host, until: end)
        } catch let error as NacreError {
            socket.closeNow()
            throw NacreError(
                "transport.tls", "The secure connection to \(origin.authority) failed; it was not used.", cause: error)
        }
        return socket
    }

    /// A look-up costs a thread, so its answer serves for some seconds.
    private func resolved(_ origin: Origin) async throws -> [SocketAddress] {
        let now = Deadline.now
        let known = addresses.withLock { $0[origin.authority] }
        if let known, known.end > now { return known.list }
        let list = try await SocketAddress.resolve(host: origin.host, port: origin.port)
        addresses.withLock { $0[origin.authority] = (list, now.advanced(by: .seconds(10))) }
        return list
    }

    private func context() throws(NacreError) -> TLSContext {
        try tls.withLock { tls throws(NacreError) in
            if let tls { return tls }
            let made = try TLSContext(authorities: configuration.authorities)
            tls = made
            return made
        }
    }

    // MARK: One exchange

    private func exchange(
        _ request: HTTPRequest, _ head: [UInt8], _ socket: LoopSocket, _ place: ConnectionPool.Place
    ) async throws -> HTTPResponse {
        var upload: Upload?
        do {
            var bytes = head
            if case .bytes(let body) = request.body { bytes += body }
            do { try await socket.write(bytes, stall: configuration.stall, cancellable: true) } catch {
                // An upstream that refuses a long head or body may have answered before it closed.
                guard (error as? NacreError)?.code == "socket.peer_gone" else { throw error }
            }
            if case .stream(let stream, let length) = request.body {
                upload = Upload(stream, length: length, to: socket, stall: configuration.stall, on: socket.loop)
            }
            var input = ByteQueue()
            let answer = try await readHead(request, socket, &input, upload)
            return try response(to: request, answer, input, socket, upload, place)
        } catch {
            let source = upload?.sourceError
            upload?.cancel()
            socket.closeNow()
            if let source { throw source }
            if error is Stale { throw error }
            throw Self.named(error)
        }
    }

    private func readHead(
        _ request: HTTPRequest, _ socket: LoopSocket, _ input: inout ByteQueue, _ upload: Upload?
    ) async throws -> UpstreamHead {
        let end = Deadline.after(configuration.headTime)
        var interim = 0
        var hasBegun = false
        while true {
            var parser = UpstreamHeadParser(method: request.method, limits: configuration.limits)
            while true {
                if let head = try parser.parse(&input) {
                    guard (100..<200).contains(head.status.rawValue), head.status != .switchingProtocols else {
                        return head
                    }
                    interim += 1
                    guard interim <= configuration.limits.interimCount else {  // guard: upstream-interim
                        throw UpstreamHead.fault("it sends interim answers without end")
                    }
                    break
                }
                // The deadline is the head's, not the byte's: dripping does not extend it.
                let limit = upload.map { $0.headDeadline(configuration.headTime) ?? .after(configuration.headTime) }
                do {
                    guard let bytes = try await socket.read(upTo: 16_384, until: limit ?? end) else {
                        if hasBegun { throw UpstreamHead.fault("it ended inside its head") }
                        throw Stale()
                    }
                    hasBegun = true
                    input.append(bytes)
                } catch let error as NacreError where error.code == "socket.peer_gone" && !hasBegun {
                    throw Stale()
                } catch let error as NacreError where error.code == "socket.timeout" {
                    // While the client was awaited, or the upload went on, the time did not count.
                    guard let upload else { throw error }
                    if let limit = upload.headDeadline(configuration.headTime), limit <= .now { throw error }
                }
            }
        }
    }

    private func response(
        to request: HTTPRequest, _ head: UpstreamHead, _ input: ByteQueue, _ socket: LoopSocket, _ upload: Upload?,
        _ place: ConnectionPool.Place
    ) throws(NacreError) -> HTTPResponse {
        if head.status == .switchingProtocols {
            guard UpstreamRequest.isUpgrade(request), upload == nil else {  // guard: upstream-upgrade
                throw UpstreamHead.fault("it changes the protocol unasked")
            }
            var early = input
            let upstream = UpgradedStream(socket, buffered: early.take(upTo: .max), stall: configuration.stall)
            return HTTPResponse(status: head.status, fields: head.fields) { client in
                await DuplexCopy.bothWays(client, upstream)
            }
        }
        let exchange = UpstreamExchange(
            head, input: input, socket: socket, upload: upload,
            stall: head.fields.mediaType == "text/event-stream" ? nil : configuration.stall,
            giveBack: { [pool, kept = configuration.kept] socket in
                if kept > 0 { pool.put(socket, place) } else { socket.closeNow() }
            })
        return HTTPResponse(status: head.status, fields: head.fields, body: exchange.body(head.framing))
    }

    /// What went wrong, in the words of transports.
    static func named(_ error: any Error) -> any Error {
        guard let error = error as? NacreError else { return error }
        switch error.code.rawValue {
        case "socket.timeout":
            return NacreError("transport.timeout", "The upstream did not answer in time; try again.", cause: error)
        case "socket.peer_gone", "socket.closed", "socket.failed", "tls.failed":
            return UpstreamHead.fault("the connection broke", cause: error)
        default: return error
        }
    }
}
