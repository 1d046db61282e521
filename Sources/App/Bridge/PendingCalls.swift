// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore

/// Calls whose page still waits. Each is answered once: by its plugin, or by the end of its page, whichever is first;
/// a plugin that never answers, and does not heed its cancellation, keeps nobody waiting.
struct PendingCalls {
    typealias Outcome = Result<JSONValue, BridgeRejection>

    private struct Entry {
        let continuation: CheckedContinuation<Outcome, Never>
        var task: Task<Void, Never>?
    }

    private var entries: [UInt64: Entry] = [:]
    private var last: UInt64 = 0

    mutating func add(_ continuation: CheckedContinuation<Outcome, Never>) -> UInt64 {
        last += 1
        entries[last] = Entry(continuation: continuation)
        return last
    }

    mutating func attach(_ task: Task<Void, Never>, to id: UInt64) { entries[id]?.task = task }

    mutating func finish(_ id: UInt64, _ outcome: Outcome) {
        entries.removeValue(forKey: id)?.continuation.resume(returning: outcome)
    }

    mutating func cancelAll() {
        let left = entries.values
        entries = [:]
        for entry in left {
            entry.task?.cancel()
            let rejection = BridgeRejection(code: "CANCELLED", message: "The page has been left.")
            entry.continuation.resume(returning: .failure(rejection))
        }
    }
}
