// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Dispatch
import NacreCore

/// Runs calls that wait for the disk on a thread beside the cooperative pool, one after the other.
struct BlockingQueue: Sendable {
    private let queue: DispatchQueue

    init(name: String) { queue = DispatchQueue(label: name) }

    /// The result of `work`.
    func run<Value: Sendable>(
        _ work: @escaping @Sendable () throws(NacreError) -> Value
    ) async throws(NacreError) -> Value {
        let result: Result<Value, NacreError> = await withCheckedContinuation { continuation in
            queue.async {
                do throws(NacreError) {
                    continuation.resume(returning: .success(try work()))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        return try result.get()
    }
}
