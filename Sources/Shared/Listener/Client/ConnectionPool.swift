// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Synchronization

/// Connections to upstreams that wait for their next request, by loop and place.
final class ConnectionPool: Sendable {
    struct Place: Hashable {
        let loop: ObjectIdentifier
        let origin: String
    }

    private struct Entry {
        let socket: LoopSocket
        let end: Deadline
    }

    private let limit: Int
    private let idle: Duration
    private let entries = Mutex<[Place: [Entry]]>([:])

    /// Keeps at most `limit` connections per place, each for `idle`.
    init(limit: Int, idle: Duration) {
        self.limit = limit
        self.idle = idle
    }

    deinit { closeAll() }

    /// The connection that was used last, or nil.
    func take(_ place: Place) -> LoopSocket? {
        let now = Deadline.now
        while let entry = entries.withLock({ $0[place]?.popLast() }) {
            entry.socket.forgetPeerGone()
            if entry.end > now, !entry.socket.peerHasEnded { return entry.socket }
            entry.socket.closeNow()
        }
        return nil
    }

    /// Keeps a connection until it is wanted, too old, or left by the other side.
    func put(_ socket: LoopSocket, _ place: Place) {
        let now = Deadline.now
        let entry = Entry(socket: socket, end: now.advanced(by: idle))
        let surplus = entries.withLock { Self.add(entry, to: &$0[place, default: []], limit: limit, now: now) }
        for socket in surplus { socket.closeNow() }
        socket.onPeerGone { [weak self, weak socket] _ in
            guard let self, let socket else { return }
            drop(socket, place)
        }
    }

    /// In place, since every exchange comes by here; the oldest stand in front. What has no room any more comes back.
    private static func add(_ entry: Entry, to kept: inout [Entry], limit: Int, now: Deadline) -> [LoopSocket] {
        var surplus: [LoopSocket] = []
        while let first = kept.first, first.end <= now || kept.count >= limit {
            surplus.append(first.socket)
            kept.removeFirst()
        }
        kept.append(entry)
        return surplus
    }

    private func drop(_ socket: LoopSocket, _ place: Place) {
        let found = entries.withLock { entries in
            guard let index = entries[place]?.firstIndex(where: { $0.socket === socket }) else { return false }
            entries[place]?.remove(at: index)
            return true
        }
        if found { socket.closeNow() }
    }

    /// How many wait.
    var count: Int { entries.withLock { $0.values.reduce(0) { $0 + $1.count } } }

    /// Closes those that wait.
    func closeAll() {
        let all = entries.withLock { entries in
            defer { entries = [:] }
            return entries.values.flatMap { $0 }
        }
        for entry in all { entry.socket.closeNow() }
    }
}
