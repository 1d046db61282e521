// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
import Synchronization

/// A few event loops that share the work. Owned by whoever makes it, who also stops it.
package final class EventLoops: Sendable {
    private let loops: [EventLoop]
    private let turn = Atomic<Int>(0)

    /// Starts `count` threads, at least one.
    package init(count: Int = 1) throws(NacreError) {
        var loops: [EventLoop] = []
        for _ in 0..<max(1, count) {
            do throws(NacreError) {
                loops.append(try EventLoop())
            } catch {
                for loop in loops { loop.stop() }
                throw error
            }
        }
        self.loops = loops
    }

    /// The next loop in turn.
    package func next() -> EventLoop {
        loops[(turn.wrappingAdd(1, ordering: .relaxed).oldValue & Int.max) % loops.count]
    }

    /// Ends the threads once the tasks they run have ended. Does not wait.
    package func stop() {
        for loop in loops { loop.stop() }
    }
}
