// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreRouting

/// The routes of the mailbox.
struct API: HTTPResponder {
    private let router: Router
    private let log: Log

    init(store: MailStore, log: Log) {
        self.log = log
        router = Router { routes in
            routes.get("/api/v1.0/mailboxes/") { _, context in
                .json(.array(try await store.mailboxes(of: Self.identity(context))))
            }
            routes.get("/api/v1.0/threads/") { request, context in
                let query = try ListQuery(request)
                let page = try await store.threads(of: Self.identity(context), query)
                return .json([
                    "results": .array(page.threads.map(\.json)), "next": JSONValue(page.next?.text),
                    "total": JSONValue(page.total),
                ])
            }
            routes.get("/api/v1.0/threads/:id/") { _, context in
                let id = context.parameters["id"] ?? ""
                guard let thread = try await store.thread(id, of: Self.identity(context)) else {
                    throw APIFailure.noThread
                }
                return .json(thread)
            }
            routes.post("/api/v1.0/threads/:id/flags/") { request, context in
                let change = try await FlagsChange(request)
                let id = context.parameters["id"] ?? ""
                guard let thread = try await store.change(id, of: Self.identity(context), change) else {
                    throw APIFailure.noThread
                }
                return .json(thread.json)
            }
            routes.get("/api/v1.0/blob/:id/") { _, context in
                let id = context.parameters["id"] ?? ""
                guard let blob = try await store.blob(id, of: Self.identity(context)) else { throw APIFailure.noBlob }
                return BlobAnswer.make(name: blob.name, type: blob.type, bytes: blob.bytes)
            }
        }
    }

    private static func identity(_ context: RequestContext) throws -> Identity {
        guard let identity = context[IdentityMiddleware.Key.self] else {
            throw NacreError("messages.no_identity", "The identity check must stand before the mailbox's routes.")
        }
        return identity
    }

    func respond(to request: HTTPRequest, context: RequestContext) async throws -> HTTPResponse {
        do {
            return try await router.respond(to: request, context: context)
        } catch let failure as APIFailure {
            return failure.response
        } catch let error as NacreError {
            log.error("request.failed", ["request": .string(context.id), "reason": .string(error.description)])
            return .failure(
                .internalServerError, code: "internal",
                message: "The mailbox could not answer. Try again; the log has request \(context.id).")
        }
    }
}
