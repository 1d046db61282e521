// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP

/// The description of the gateway's own addresses (OpenAPI 3.1). A test holds it against the router.
struct OpenAPIDocument: Sendable {
    /// The document with this installation's name, version and origin in it.
    let bytes: [UInt8]

    init(_ configuration: GatewayConfiguration) {
        var text = String(decoding: PackageResources.openapi_json, as: UTF8.self)
        let values: [String: JSONValue] = [
            "@NAME@": .string(configuration.name), "@VERSION@": .string(configuration.version),
            "@ORIGIN@": .string(configuration.publicOrigin.description),
            "@SCHEMES@": .array(configuration.callbackSchemes.map(JSONValue.string)),
        ]
        // The marks stand in quotes, which the text of a JSON string brings along.
        for (mark, value) in values { text.replace("\"\(mark)\"", with: value.text) }
        bytes = Array(text.utf8)
    }

    /// `GET /api/v1.0/openapi.json`: for everybody.
    var response: HTTPResponse {
        HTTPResponse(
            fields: [
                "Content-Type": "application/json", "Cache-Control": "public, max-age=300",
                "X-Content-Type-Options": "nosniff",
            ], body: .bytes(bytes))
    }
}
