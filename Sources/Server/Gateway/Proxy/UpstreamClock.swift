// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import Synchronization

/// Measures how long the upstream keeps us waiting for the head of its answer.
///
/// It stands still while the next part of the upload is awaited from the client, so that an upload may take any time
/// (NB-6), and begins anew with each part: an upstream that no longer takes the upload is given up as well.
final class UpstreamClock: Sendable {
    private let time: any TimeSource
    /// Since when it is the upstream's turn; nil while it is the client's.
    private let since: Mutex<Instant?>

    init(time: any TimeSource) {
        self.time = time
        since = Mutex(time.now)
    }

    /// The same body; reading it tells the clock whose turn it is.
    func watching(_ body: HTTPBody) -> HTTPBody {
        guard case .stream(let stream, let length) = body else { return body }
        return .stream(
            ByteStream { [self] in
                since.withLock { $0 = nil }  // guard: upload-pause
                defer { since.withLock { $0 = time.now } }
                return try await stream.next()
            }, length: length)
    }

    /// Sleeps until it has been the upstream's turn for `limit` without a pause.
    func wait(for limit: Duration) async throws {
        while true {
            let waited = since.withLock { since in since.map { time.now - $0 } ?? .zero }
            guard waited < limit else { return }
            try await time.sleep(for: limit - waited)
        }
    }
}
