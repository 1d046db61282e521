// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore
public import NacreHTTP

extension HTTPResponse {
    /// JSON, never cached.
    public static func json(_ value: JSONValue, status: HTTPStatus = .ok) -> HTTPResponse {
        HTTPResponse(
            status: status,
            fields: [
                "Content-Type": "application/json", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
            ],
            body: .bytes(value.bytes))
    }

    /// `{"code", "message"}`, the shape of every error answer.
    public static func failure(_ status: HTTPStatus, code: String, message: String) -> HTTPResponse {
        json(["code": .string(code), "message": .string(message)], status: status)
    }

    /// A redirect; never cached.
    public static func redirect(to location: String, status: HTTPStatus = .found) -> HTTPResponse {
        HTTPResponse(status: status, fields: ["Location": location, "Cache-Control": "no-store"])
    }

    /// An HTML page, never cached, under this Content-Security-Policy.
    public static func html(_ text: String, status: HTTPStatus = .ok, policy: String) -> HTTPResponse {
        HTTPResponse(
            status: status,
            fields: [
                "Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store",
                "Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff",
                "Referrer-Policy": "no-referrer",
            ],
            body: .text(text))
    }
}
