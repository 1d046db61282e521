// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import Synchronization

/// The counts of this process alone, in memory: who is refused here is refused without asking the database.
final class LocalLimiter: Sendable {
    private static let maximumKeys = 100_000

    private let cells = Mutex<[[UInt8]: Cell]>([:])

    /// Takes one of each, or none and answers how many microseconds to wait.
    func take(_ keys: [(id: [UInt8], limit: Limit)], now: Int64) -> Int64 {
        cells.withLock { cells in
            let wait = keys.map { (cells[$0.id] ?? Cell(emptyAt: now)).wait($0.limit, now: now) }.max() ?? 0
            guard wait == 0 else { return wait }
            if cells.count >= Self.maximumKeys { Self.forget(&cells, now) }  // guard: limit-memory
            for (id, limit) in keys { cells[id, default: Cell(emptyAt: now)].take(limit, now: now) }
            return 0
        }
    }

    /// Gives one of each back.
    func giveBack(_ keys: [(id: [UInt8], limit: Limit)]) {
        cells.withLock { cells in for (id, limit) in keys { cells[id]?.giveBack(limit) } }
    }

    /// Takes over what the database knows, so that the next refusals need not ask it.
    func learn(_ id: [UInt8], emptyAt: Int64) {
        cells.withLock { $0[id] = Cell(emptyAt: max($0[id]?.emptyAt ?? 0, emptyAt)) }
    }

    /// How many counts are kept.
    var count: Int { cells.withLock { $0.count } }

    /// An empty count says nothing: forgetting it changes no answer. When that frees too little, all are forgotten, so
    /// that a flood of clients costs neither memory without end nor a look at every count with each request.
    private static func forget(_ cells: inout [[UInt8]: Cell], _ now: Int64) {
        cells = cells.filter { $0.value.emptyAt > now }
        if cells.count > maximumKeys / 2 { cells = [:] }
    }
}
