// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CLinux
import NacreCore
import Synchronization

extension LoopSocket {
    /// Connects to a host, trying its addresses in order.
    ///
    /// - Throws: `socket.resolve` or `socket.connect`, both naming the host; `CancellationError`.
    package static func connect(
        host: String, port: Int, on loop: EventLoop, within limit: Duration = .seconds(15)
    ) async throws -> LoopSocket {
        let addresses = try await SocketAddress.resolve(host: host, port: port)
        return try await connect(to: addresses, named: "\(host):\(port)", on: loop, within: limit)
    }

    /// Connects to the first of these addresses that answers; `name` stands in the error.
    package static func connect(
        to addresses: [SocketAddress], named name: String, on loop: EventLoop, within limit: Duration = .seconds(15)
    ) async throws -> LoopSocket {
        var last: (any Error)?
        for (index, address) in addresses.enumerated() {
            do {
                return try await connect(to: address, on: loop, within: limit / (addresses.count - index))
            } catch let error as CancellationError {
                throw error
            } catch {
                last = error
            }
        }
        throw NacreError(
            "socket.connect", "Nothing answers at \(name); check that it runs and is reachable.", cause: last)
    }

    private static func connect(
        to address: SocketAddress, on loop: EventLoop, within limit: Duration
    ) async throws -> LoopSocket {
        let descriptor = nacre_stream_socket(address.family)
        guard descriptor >= 0 else { throw failure(nacre_errno()) }
        let code = address.withSockaddr { nacre_connect(descriptor, $0, $1) }
        guard code == 0 || code == EINPROGRESS || code == EINTR else {
            nacre_close(descriptor)
            throw failure(code)
        }
        let socket = try LoopSocket(owning: descriptor, peer: address, loop: loop)
        guard code != 0 else { return socket }
        do {
            socket.state.withLock { if !$0.broken { $0.writeBlocked = true } }
            // The edge may have come before the flag was set; the error slot and a zero-byte wait tell.
            if nacre_connect_finished(descriptor) == 0 {
                try await socket.waitToWrite(.writable, until: .after(limit), cancellable: true)
            }
        } catch {
            socket.closeNow()
            throw error
        }
        let result = nacre_socket_error(descriptor)
        guard result == 0 else {
            socket.closeNow()
            throw failure(result)
        }
        socket.state.withLock { $0.writeBlocked = false }
        return socket
    }
}
