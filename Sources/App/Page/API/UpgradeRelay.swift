// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreListener

/// Opens WebSockets upstream over a connection of its own and passes the bytes; the handshake's proof stays between the
/// page and the server (RFC 6455).
struct UpgradeRelay: Sendable {
    let dialer: Dialer
    let idle: Duration

    /// Copies the fields of the handshake, which are hop-by-hop for everything else.
    static func copyHandshake(from request: HTTPRequest, to out: inout HTTPRequest) {
        for field in request.fields.fields where field.name.lowercased().hasPrefix("sec-websocket-") {
            out.fields[field.name] = field.value
        }
        out.fields["Connection"] = "Upgrade"
        out.fields["Upgrade"] = "websocket"
    }

    /// The server's answer to the handshake: a 101 with the connection, or whatever it said instead.
    ///
    /// - Throws: `transport.*` when there is no answer.
    func open(_ request: HTTPRequest) async throws -> HTTPResponse {
        let origin = try Origin("\(request.scheme)://\(request.authority)")
        let target = ConnectTarget(origin)
        let stream =
            request.scheme == "https"
            ? try await dialer.openTLS(target, reach: .configured) : try await dialer.open(target, reach: .configured)
        do {
            try await stream.write(Self.head(of: request))
            let head = try await withTimeLimit(
                dialer.limit, time: dialer.time,
                timeout: { NacreError("transport.timeout", "\(origin) did not answer the handshake in time.") },
                operation: { try await ResponseHead.read(from: stream) })
            guard head.status == 101 else {
                await stream.close()
                return HTTPResponse(status: HTTPStatus(rawValue: head.status), fields: Self.withoutBody(head.fields))
            }
            var fields = head.fields
            fields.removeAll("Connection")
            let idle = idle
            let time = dialer.time
            return HTTPResponse(status: .switchingProtocols, fields: fields) { page in
                await TunnelPump.run(page, PrefixedStream(head.rest, then: stream), idle: idle, time: time)
            }
        } catch {
            await stream.close()
            throw error
        }
    }

    /// The request as bytes. Fields with control characters would be another request, so they are left out.
    private static func head(of request: HTTPRequest) -> [UInt8] {
        var text = "\(request.method.rawValue) \(request.target) HTTP/1.1\r\nHost: \(request.authority)\r\n"
        for field in request.fields.fields where isPlain(field.name) && isPlain(field.value) {
            text += "\(field.name): \(field.value)\r\n"
        }
        return Array((text + "\r\n").utf8)
    }

    private static func isPlain(_ text: String) -> Bool { text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }

    private static func withoutBody(_ fields: HTTPFields) -> HTTPFields {
        var fields = fields
        fields.removeHopByHop()
        for name in ["Content-Length", "Content-Type", "Content-Encoding"] { fields.removeAll(name) }
        return fields
    }
}
