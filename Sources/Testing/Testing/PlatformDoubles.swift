// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacrePorts
import Synchronization

/// A network that a test switches.
package final class SwitchedNetwork: NetworkMonitor {
    private struct State {
        var status = NetworkStatus(isConnected: true, kind: .wifi)
        var observers: [AsyncStream<NetworkStatus>.Continuation] = []
    }
    private let state = Mutex(State())

    package init() {}

    package func status() async -> NetworkStatus { state.withLock { $0.status } }

    package func changes() async -> AsyncStream<NetworkStatus> {
        let (stream, continuation) = AsyncStream<NetworkStatus>.makeStream()
        state.withLock { $0.observers.append(continuation) }
        return stream
    }

    /// Whether anybody waits for changes.
    package var isWatched: Bool { state.withLock { !$0.observers.isEmpty } }

    package func become(_ status: NetworkStatus) {
        state.withLock { state in
            state.status = status
            for observer in state.observers { observer.yield(status) }
        }
    }
}

/// A clipboard of a test's own.
package final class MemoryClipboard: Clipboard {
    private let content = Mutex<ClipboardContent?>(nil)

    package init() {}

    package func read() async throws(NacreError) -> ClipboardContent? { content.withLock { $0 } }
    package func write(_ content: ClipboardContent) async throws(NacreError) { self.content.withLock { $0 = content } }
}

/// Takes what is shared and notes it, or lets the person change their mind.
package final class NotedShare: ShareTarget {
    private let notes = Mutex<[ShareContent]>([])
    private let isCancelled: Bool

    package init(cancelled: Bool = false) { isCancelled = cancelled }

    package var shared: [ShareContent] { notes.withLock { $0 } }

    package func share(_ content: ShareContent) async throws(NacreError) -> String? {
        notes.withLock { $0.append(content) }
        if isCancelled { return nil }
        return content.files.isEmpty ? "mailto" : "save"
    }
}

/// Notes each address it is to open.
package final class NotedBrowser: SystemBrowser {
    private let notes = Mutex<[String]>([])

    package init() {}

    package var opened: [String] { notes.withLock { $0 } }
    package func open(_ url: String) async throws(NacreError) { notes.withLock { $0.append(url) } }
}

/// Notes how the page's box is laid out.
package final class NotedBox: PageBox {
    private let notes = Mutex<[[Int]]>([])

    package init() {}

    package var layouts: [[Int]] { notes.withLock { $0 } }
    package func layout(width: Int, height: Int, keyboard: Int) async {
        notes.withLock { $0.append([width, height, keyboard]) }
    }
}
