// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreListener
import Synchronization

/// Serves one connection of the web view's network process: reads CONNECT heads until one is let through.
struct ConnectEndpoint: Sendable {
    /// Where a target leads.
    enum Way: Sendable {
        /// TLS ends here: the descriptor is handed over. False when the channel is stopping.
        case inside(@Sendable (_ descriptor: Int32) -> Void)
        /// A raw tunnel.
        case outside
    }

    let secret: ConnectSecret
    let limits: PageChannelLimits
    let dialer: Dialer
    let tunnels: TunnelCount
    let time: any TimeSource
    let log: Log
    let way: @Sendable (ConnectTarget) -> Way

    /// Returns when the connection is done with or given away.
    func serve(_ socket: LoopSocket) async {
        do {
            for _ in 0..<limits.refusals {
                guard try await serveHead(socket) else { return }
            }
            log.notice("page.connect_closed", ["reason": "too-many-refusals"])
        } catch let refusal as Refusal {
            log.notice("page.connect_refused", ["reason": "malformed-head", "status": JSONValue(refusal.status)])
            await answerAndClose(socket, refusal.status)
        } catch {
            // Closed before a head was whole, or too slow: there is nobody to answer.
            log.debug("page.connect_ended", ["cause": .string("\(error)")])
        }
    }

    /// Whether another head may follow on this connection.
    private func serveHead(_ socket: LoopSocket) async throws -> Bool {
        var parsing = ParsingLimits()
        parsing.headBytes = limits.headBytes  // guard: connect-head-size
        parsing.targetBytes = min(parsing.targetBytes, limits.headBytes)
        let deadline = Deadline.after(limits.headTime)  // guard: connect-head-time
        let head = try await socket.readHead(limits: parsing, until: deadline)
        switch ConnectDecision.decide(head, secret: secret) {
        case .askForSecret:
            log.notice("page.connect_refused", ["reason": "wrong-or-missing-secret", "status": 407])
            try await socket.write(Self.askForSecret)
            return true
        case .refuse(let status, let reason):
            log.notice("page.connect_refused", ["reason": .string(reason.rawValue), "status": JSONValue(status)])
            await answerAndClose(socket, status)
        case .connect(let target):
            switch way(target) {
            case .inside(let adopt):
                try await socket.write(Self.established)
                if let descriptor = socket.detach() { adopt(descriptor) }
            case .outside: await tunnel(socket, to: target)
            }
        }
        return false
    }

    // MARK: Raw tunnels

    private func tunnel(_ socket: LoopSocket, to target: ConnectTarget) async {
        guard tunnels.enter() else {  // guard: connect-tunnel-limit
            log.warning("page.tunnel_refused", ["host": .string(target.host), "reason": "too-many-tunnels"])
            return await answerAndClose(socket, 503)
        }
        defer { tunnels.leave() }
        let remote: any DuplexStream
        do {
            remote = try await dialer.open(target, reach: .publicOnly)
        } catch {
            let code = (error as? NacreError)?.code ?? "cancelled"
            log.notice("page.tunnel_refused", ["host": .string(target.host), "reason": .string(code.rawValue)])
            return await answerAndClose(socket, Self.status(for: code))
        }
        do {
            try await socket.write(Self.established)
        } catch {
            return await remote.close()
        }
        await TunnelPump.run(socket, remote, idle: limits.idleTunnel, time: time)
    }

    private static func status(for code: NacreError.Code) -> Int {
        switch code {
        case "page.target": 403
        case "transport.timeout": 504
        default: 502
        }
    }

    // MARK: Answers

    private static let established = Array("HTTP/1.1 200 Connection established\r\n\r\n".utf8)
    private static let askForSecret = Array(
        ("HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"page channel\"\r\n"
            + "Content-Length: 0\r\n\r\n").utf8)

    /// Says no, and takes for a moment what the client still sends: unread bytes would turn the answer into a reset.
    private func answerAndClose(_ socket: LoopSocket, _ status: Int) async {
        let reason = HTTPStatus(rawValue: status).reason
        let text = "HTTP/1.1 \(status) \(reason)\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        try? await socket.write(Array(text.utf8))
        try? await socket.finishWriting()
        var taken = 0
        while taken < 65_536, let bytes = try? await socket.read(upTo: 16_384, until: .after(.milliseconds(500))) {
            taken += bytes.count
        }
        socket.closeNow()
    }
}

/// Counts raw tunnels against their limit.
final class TunnelCount: Sendable {
    private let limit: Int
    private let open = Mutex(0)

    init(limit: Int) { self.limit = limit }

    func enter() -> Bool {
        open.withLock { open in
            guard open < limit else { return false }
            open += 1
            return true
        }
    }

    func leave() { open.withLock { $0 -= 1 } }
}
