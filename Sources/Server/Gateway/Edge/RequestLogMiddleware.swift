// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreHTTP
package import NacreRouting

/// Writes one record per request and turns thrown errors into answers. Queries never reach the log.
package struct RequestLogMiddleware: Middleware {
    let log: Log
    let time: any TimeSource

    package init(log: Log, time: any TimeSource) {
        self.log = log
        self.time = time
    }

    package func respond(
        to request: HTTPRequest, context: RequestContext, next: any HTTPResponder
    ) async throws -> HTTPResponse {
        let began = time.now
        do {
            let response = try await next.respond(to: request, context: context)
            record(request, context, response.status, began)
            return response
        } catch is CancellationError {
            log.info("request.client_gone", fields(request, context, began))
            throw CancellationError()
        } catch {
            let response = Self.answer(to: error, request: context.id)
            log.error(
                "request.failed",
                [
                    "request": .string(context.id), "method": .string(request.method.rawValue),
                    "path": .string(request.path), "error": .string("\(error)"),
                ])
            record(request, context, response.status, began)
            return response
        }
    }

    private func fields(
        _ request: HTTPRequest, _ context: RequestContext, _ began: Instant
    ) -> KeyValuePairs<String, JSONValue> {
        [
            "request": .string(context.id), "method": .string(request.method.rawValue), "path": .string(request.path),
            "client": .string(context.clientAddress), "milliseconds": JSONValue((time.now - began).inMilliseconds),
        ]
    }

    private func record(
        _ request: HTTPRequest, _ context: RequestContext, _ status: HTTPStatus, _ began: Instant
    ) {
        log.info(
            "request.done",
            [
                "request": .string(context.id), "method": .string(request.method.rawValue),
                "path": .string(request.path), "status": JSONValue(status.rawValue),
                "client": .string(context.clientAddress), "milliseconds": JSONValue((time.now - began).inMilliseconds),
            ])
    }

    /// Errors of the database that a second try would meet again.
    private static let ownFaults = [
        "database.statement", "database.misuse", "database.too_large", "database.column", "database.unique",
        "database.constraint", "database.value", "database.migration_newer",
        "database.migration_changed",
    ]

    private static func answer(to error: any Error, request: String) -> HTTPResponse {
        switch (error as? NacreError)?.code.rawValue {
        case "http.body_too_large":
            return .failure(.contentTooLarge, code: "body_too_large", message: "The body of this request is too large.")
        // Neither "stored" nor "not stored" would be true, so nobody is told to send it again.
        case "database.commit_unknown":  // guard: storage-unknown
            return .failure(
                .serviceUnavailable, code: "storage_unknown",
                message: "It is not known whether this was stored; look before you send it again.")
        // Whatever else the database cannot do: nothing was stored, nobody was signed out, the same request may be sent again.
        case let code? where code.hasPrefix("database.") && !Self.ownFaults.contains(code):
            var response = HTTPResponse.failure(
                .serviceUnavailable, code: "storage_unavailable",
                message: "The server cannot store anything at the moment; try again shortly.")
            response.fields["Retry-After"] = "5"
            return response
        default:
            return .failure(
                .internalServerError, code: "internal",
                message: "Something went wrong on the server. Report the number \(request) if it happens again.")
        }
    }
}
