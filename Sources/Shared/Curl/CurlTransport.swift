// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CCurl
import NacreCore
public import NacreHTTP

/// libcurl's multi interface on one thread of its own, behind `HTTPTransport`.
///
/// Bodies stream both ways with back-pressure: a reader that stops pauses the transfer, so memory stays flat.
public final class CurlTransport: HTTPTransport {
    private let configuration: CurlConfiguration
    private let loop: CurlLoop

    /// A transport with its own connections; it ends with its last reference.
    public init(configuration: CurlConfiguration = CurlConfiguration()) {
        self.configuration = configuration
        loop = CurlLoop()
        loop.start()
    }

    deinit { loop.stop() }

    public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        try Task.checkCancellation()
        let proxy = try await configuration.proxy(request.url)
        let transfer = CurlTransfer(request: request, configuration: configuration, proxy: proxy, loop: loop)
        let response = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                loop.run { $0.add(transfer, continuation) }
            }
        } onCancel: {
            loop.run { $0.cancel(transfer) }
        }
        return response
    }
}
