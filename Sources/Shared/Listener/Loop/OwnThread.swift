// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CLinux
import NacreCore

/// Threads beside the cooperative pool, for what waits in the kernel.
enum OwnThread {
    private final class Start: Sendable {
        let name: String
        let body: @Sendable () -> Void
        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }

    /// Runs `body` on a new thread of its own.
    static func start(name: String, _ body: @escaping @Sendable () -> Void) throws(NacreError) {
        let start = Unmanaged.passRetained(Start(name: name, body: body))
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                let start = Unmanaged<Start>.fromOpaque(context).takeRetainedValue()
                nacre_name_thread(start.name)
                start.body()
                return nil
            }, start.toOpaque())
        guard code == 0 else {
            start.release()
            throw NacreError("listener.no_thread", "The system refuses a new thread: \(systemMessage(code)).")
        }
        pthread_detach(thread)
    }

    /// The result of blocking work, without blocking the caller's thread.
    static func run<Value: Sendable>(
        name: String, _ work: @escaping @Sendable () -> Result<Value, NacreError>
    ) async throws(NacreError) -> Value {
        let result = await withCheckedContinuation {
            (continuation: CheckedContinuation<Result<Value, NacreError>, Never>) in
            do throws(NacreError) {
                try start(name: name) { continuation.resume(returning: work()) }
            } catch {
                continuation.resume(returning: .failure(error))
            }
        }
        return try result.get()
    }
}
