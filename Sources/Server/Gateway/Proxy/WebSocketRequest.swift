// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreHTTP
import NacreRouting

/// The opening handshake of a WebSocket (RFC 6455 section 4.2.1).
enum WebSocketRequest {
    /// Whether the request asks for `websocket` and nothing else. Other protocols (`h2c`) are not passed on: their
    /// requests are answered as if they had not asked (RFC 9110 section 7.8).
    static func isUpgrade(_ request: HTTPRequest) -> Bool {
        request.fields.tokens("Upgrade") == ["websocket"] && request.fields.tokens("Connection").contains("upgrade")
    }

    /// Why it cannot be passed on; nil when it can.
    static func fault(_ request: HTTPRequest) -> HTTPResponse? {
        let keys = request.fields.values("Sec-WebSocket-Key")
        var hasBody = true
        if case .none = request.body { hasBody = false }
        // guard: websocket-form
        guard request.method == .get, !hasBody, keys.count == 1, keys[0].utf8.count == 24 else {
            return .failure(
                .badRequest, code: "websocket.malformed",
                message: "This is no opening handshake of a WebSocket; it needs GET, a key and no body.")
        }
        guard request.fields.values("Sec-WebSocket-Version") == ["13"] else {
            var response = HTTPResponse.failure(
                HTTPStatus(rawValue: 426), code: "websocket.version", message: "WebSockets speak version 13 here.")
            response.fields["Sec-WebSocket-Version"] = "13"
            return response
        }
        return nil
    }
}
