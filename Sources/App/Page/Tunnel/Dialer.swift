// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreListener

/// Opens connections to the outside: directly, or through the system's proxy.
struct Dialer: Sendable {
    /// What may be reached.
    enum Reach: Sendable {
        /// A host the configuration names: anywhere.
        case configured
        /// A host that a page or mail names: public addresses only.
        case publicOnly
    }

    let loops: EventLoops
    let proxy: ProxyResolver
    let trust: TLSTrust
    let privateTargets: Set<String>
    let limit: Duration
    let time: any TimeSource

    /// A TCP connection to the target, or a proxy's tunnel to it.
    ///
    /// - Throws: `page.target` when policy forbids it, `transport.unreachable`, `transport.timeout`, `page.proxy`.
    func open(_ target: ConnectTarget, reach: Reach) async throws -> any DuplexStream {
        try await withTimeLimit(
            limit, time: time,
            timeout: { NacreError("transport.timeout", "\(target) did not answer in time; try again later.") },
            operation: { try await dial(target, reach: reach) })
    }

    /// The same with TLS inside, checked against the host's name.
    func openTLS(_ target: ConnectTarget, reach: Reach) async throws -> any DuplexStream {
        let trust = trust
        return try await withTimeLimit(
            limit, time: time,
            timeout: { NacreError("transport.timeout", "\(target) did not answer in time; try again later.") },
            operation: {
                try await TLSClientStream.connect(
                    over: try await dial(target, reach: reach), host: target.host, trust: trust)
            })
    }

    private func dial(_ target: ConnectTarget, reach: Reach) async throws -> any DuplexStream {
        switch try await proxy("https://\(target)/") {
        case .direct: return try await direct(target, reach: reach)
        case .proxy(let host, let port): return try await tunnel(to: target, through: (host, port), reach: reach)
        }
    }

    private func mayReach(_ target: ConnectTarget, _ octets: [UInt8], _ reach: Reach) -> Bool {
        reach == .configured || privateTargets.contains(target.description) || TargetPolicy.isPublic(octets)
    }

    private func direct(_ target: ConnectTarget, reach: Reach) async throws -> any DuplexStream {
        let addresses = try await unreachable(target) {
            try await SocketAddress.resolve(host: target.host, port: target.port)
        }
        // The addresses that were judged are the ones connected to: a second answer of the DNS changes nothing.
        let allowed = addresses.filter { mayReach(target, $0.octets, reach) }  // guard: tunnel-private
        guard !allowed.isEmpty else { throw Self.forbidden(target) }
        return try await unreachable(target) {
            try await LoopSocket.connect(to: allowed, named: "\(target)", on: loops.next(), within: limit)
        }
    }

    private func tunnel(
        to target: ConnectTarget, through proxy: (host: String, port: Int), reach: Reach
    ) async throws -> any DuplexStream {
        if reach == .publicOnly, !privateTargets.contains(target.description) {
            let octets = try await Self.literal(target)
            guard TargetPolicy.mayBeProxied(target.host, octets: octets) else {  // guard: tunnel-private-by-proxy
                throw Self.forbidden(target)
            }
        }
        let socket = try await unreachable(target) {
            try await LoopSocket.connect(host: proxy.host, port: proxy.port, on: loops.next(), within: limit)
        }
        do {
            try await socket.write(Array("CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n\r\n".utf8))
            let head = try await ResponseHead.read(from: socket)
            guard (200..<300).contains(head.status) else {
                throw NacreError(
                    "page.proxy", "The system's proxy \(proxy.host) refused \(target) with status \(head.status).")
            }
            return head.rest.isEmpty ? socket : PrefixedStream(head.rest, then: socket)
        } catch {
            socket.closeNow()
            throw error
        }
    }

    /// The address where the host is one in any spelling (`127.1`, `0x7f000001`, `[::1]`), else nil.
    private static func literal(_ target: ConnectTarget) async throws -> [UInt8]? {
        let host = target.host
        let isNumeric = host.hasPrefix("[") || host.hasPrefix("0x") || host.utf8.allSatisfy { $0 < UInt8(ascii: ":") }
        guard isNumeric else { return nil }
        return try await SocketAddress.resolve(host: host, port: target.port).first?.octets ?? []
    }

    private static func forbidden(_ target: ConnectTarget) -> NacreError {
        NacreError(
            "page.target",
            "\(target) is on this machine or its own network, which pages may not reach; configure it if it must be.")
    }

    private func unreachable<Value: Sendable>(
        _ target: ConnectTarget, _ body: () async throws -> Value
    ) async throws -> Value {
        do {
            return try await body()
        } catch let error as NacreError {
            throw NacreError("transport.unreachable", "\(target) cannot be reached; check the network.", cause: error)
        }
    }
}
