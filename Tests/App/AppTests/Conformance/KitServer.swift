// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreHTTP

/// The upstream of the bridge's traces; Tests/Journeys/kit_server.py is the same over a socket.
struct KitServer: HTTPTransport {
    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        switch request.path {
        case "/echo": return json(try await echo(request))
        case "/form": return json(try await form(request))
        case "/bytes":
            return HTTPResponse(fields: ["Content-Type": "application/octet-stream"], body: .bytes([0, 255, 254, 128]))
        case "/text": return HTTPResponse(fields: ["Content-Type": "text/plain"], body: .text("{\"a\":1}"))
        case "/no-json": return HTTPResponse(fields: ["Content-Type": "application/json"], body: .text("not json"))
        case "/redirect": return HTTPResponse(status: 302, fields: ["Location": "/echo?to"])
        case "/redirect-307": return HTTPResponse(status: 307, fields: ["Location": "/echo?to"])
        case "/redirect-file": return HTTPResponse(status: 302, fields: ["Location": "file:///etc/passwd"])
        case "/circle": return HTTPResponse(status: 302, fields: ["Location": "/circle"])
        case "/cookies":
            var response = HTTPResponse(fields: ["Content-Type": "text/plain"], body: .text("ok"))
            response.fields.append("Set-Cookie", "seen=1; Path=/; Expires=Thu, 31 Dec 2099 23:59:59 GMT")
            response.fields.append("Set-Cookie", "hidden=2; Path=/; HttpOnly")
            return response
        case "/cookie":
            return HTTPResponse(
                fields: ["Content-Type": "text/plain"], body: .text(request.fields["Cookie"] ?? ""))
        case "/slow":
            try await Task.sleep(for: .seconds(60))
            return HTTPResponse(body: .text("late"))
        default:
            return HTTPResponse(status: .notFound, fields: ["Content-Type": "text/plain"], body: .text("missing"))
        }
    }

    private func json(_ value: JSONValue) -> HTTPResponse {
        HTTPResponse(fields: ["Content-Type": "application/json"], body: .text(value.text))
    }

    private func echo(_ request: HTTPRequest) async throws -> JSONValue {
        let body = try await request.body.collect(upTo: 1 << 20)
        return [
            "method": .string(request.method.rawValue), "target": .string(request.target),
            "type": .string(request.fields["Content-Type"] ?? ""),
            "origin": .string(request.fields["Origin"] ?? ""), "x": .string(request.fields["X-Test"] ?? ""),
            "body": .string(String(decoding: body, as: UTF8.self)),
        ]
    }

    /// The two parts of the one form that the traces send.
    private func form(_ request: HTTPRequest) async throws -> JSONValue {
        let text = String(decoding: try await request.body.collect(upTo: 1 << 20), as: UTF8.self)
        let type = request.fields["Content-Type"] ?? ""
        guard let mark = type.range(of: "boundary=") else { return [:] }
        let parts = text.components(separatedBy: "--" + type[mark.upperBound...])
        func field(_ part: String) -> String {
            let line = part.components(separatedBy: "\r\n").first { $0.hasPrefix("Content-Disposition: ") } ?? ""
            return String(line.dropFirst("Content-Disposition: ".count))
        }
        guard parts.count == 4, let body = parts[2].range(of: "\r\n\r\n") else { return [:] }
        return [
            "disposition": .string(field(parts[1])), "file": .string(field(parts[2])),
            // A line end is one Character.
            "content": .string(String(parts[2][body.upperBound...].dropLast())),
        ]
    }
}
