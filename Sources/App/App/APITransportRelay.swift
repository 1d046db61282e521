// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import Synchronization

/// Plugins are made before the page channel whose answers they give; this joins the two.
final class APITransportRelay: HTTPTransport {
    typealias Exchange = @Sendable (HTTPRequest) async throws -> HTTPResponse

    private let exchange = Mutex<Exchange?>(nil)

    /// From now on requests go to `exchange`.
    func connect(_ exchange: @escaping Exchange) { self.exchange.withLock { $0 = exchange } }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard let exchange = exchange.withLock({ $0 }) else {
            throw NacreError("transport.unreachable", "The app is still starting; try again.")
        }
        return try await exchange(request)
    }
}
