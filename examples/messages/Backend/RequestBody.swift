// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP

/// Reads what a request brings, with answers that say what is wrong.
enum RequestBody {
    /// The members of a JSON object.
    ///
    /// - Throws: 400, 413 or 415 with what is wrong.
    static func object(_ request: HTTPRequest, upTo limit: Int) async throws -> [String: JSONValue] {
        // A form of a hostile mail can post text/plain that is JSON by chance, but this type only after a preflight.
        guard mediaType(request) == "application/json" else {  // guard: json-only
            throw APIFailure(status: 415, code: "bad_type", message: "Send it as application/json.")
        }
        let parsed: JSONValue
        let bytes = try await bytes(request, upTo: limit)
        do {
            parsed = try JSONParser.parse(bytes)
        } catch {
            throw APIFailure.badRequest("bad_json", error.message)
        }
        guard let members = parsed.object else { throw APIFailure.badRequest("bad_json", "Send a JSON object.") }
        return members
    }

    /// All bytes, but never more than `limit`.
    ///
    /// - Throws: 413 beyond the limit.
    static func bytes(_ request: HTTPRequest, upTo limit: Int) async throws -> [UInt8] {
        do {
            return try await request.body.collect(upTo: limit)
        } catch let error as NacreError where error.code == "http.body_too_large" {
            throw APIFailure(status: .contentTooLarge, code: "too_large", message: error.message)
        }
    }

    /// The media type without parameters, in lower case.
    static func mediaType(_ request: HTTPRequest) -> String {
        String((request.fields["Content-Type"] ?? "").lowercased().prefix { $0 != ";" && $0 != " " })
    }
}
