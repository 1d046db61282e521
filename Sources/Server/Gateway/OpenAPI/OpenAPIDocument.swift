// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreSessions

/// The description of the gateway's own addresses (OpenAPI 3.1). A test holds it against the router.
///
/// `openapi.json` describes everything that a configuration can switch on; an installation serves what it has.
struct OpenAPIDocument: Sendable {
    /// The document of this installation.
    let bytes: [UInt8]

    init(_ configuration: GatewayConfiguration, routes: [(method: HTTPMethod, pattern: String)]) {
        var text = String(decoding: PackageResources.openapi_json, as: UTF8.self)
        let presentations = configuration.tokens.presentations.map(\.rawValue).sorted()
        let values: [String: JSONValue] = [
            "@NAME@": .string(configuration.name), "@VERSION@": .string(configuration.version),
            "@ORIGIN@": .string(configuration.publicOrigin.description), "@ISSUER@": .string(configuration.oidc.issuer),
            "@SCHEMES@": .array(configuration.callbackSchemes.map(JSONValue.string)),
            "@PRESENTATIONS@": .array(presentations.map(JSONValue.string)),
            // An exchange gives a cookie too, and one where nothing is said.
            "@EXCHANGES@": .array((["cookie"] + presentations).map(JSONValue.string) + [.null]),
        ]
        // The marks stand in quotes, which the text of a JSON string brings along.
        for (mark, value) in values { text.replace("\"\(mark)\"", with: value.text) }
        guard var document = (try? JSONParser.parse(Array(text.utf8)))?.object, let written = document["paths"]?.object
        else { preconditionFailure("openapi.json is no JSON object with paths") }
        var paths: [String: JSONValue] = [:]
        for route in routes {
            let path = Self.path(route.pattern)
            let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
            let claimed = path.replacing(folder, with: "/@CLAIMED@", maxReplacements: 1)
            let method = route.method.rawValue.lowercased()
            guard var operation = written[path]?[method]?.object ?? written[claimed]?[method]?.object else { continue }
            if written[path] == nil {
                // A name of its own for each folder of links.
                operation["operationId"] = .string(
                    String(path.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" }))
            }
            var item = paths[path]?.object ?? [:]
            item[method] = .object(operation)
            paths[path] = .object(item)
        }
        document["paths"] = .object(paths)
        bytes = JSONValue.object(document).bytes
    }

    /// `/a/:id/` as OpenAPI writes it.
    static func path(_ pattern: String) -> String {
        pattern.split(separator: "/", omittingEmptySubsequences: false)
            .map { $0.hasPrefix(":") ? "{\($0.dropFirst())}" : String($0) }.joined(separator: "/")
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
