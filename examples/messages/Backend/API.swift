// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreRouting

/// The routes of the mailbox.
struct API: HTTPResponder {
    private let router: Router
    private let log: Log

    init(store: MailStore, remote: RemoteImages?, log: Log) {
        self.log = log
        router = Router { routes in
            Self.lists(&routes, store)
            Self.files(&routes, store)
            Self.drafts(&routes, store)
            Self.messages(&routes, store, remote)
        }
    }

    static func identity(_ context: RequestContext) throws -> Identity {
        guard let identity = context[IdentityMiddleware.Key.self] else {
            throw NacreError("messages.no_identity", "The identity check must stand before the mailbox's routes.")
        }
        return identity
    }

    static func id(_ context: RequestContext) -> String { context.parameters["id"] ?? "" }

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

    private static func lists(_ routes: inout Router.Builder, _ store: MailStore) {
        routes.get("/api/v1.0/mailboxes/") { _, context in
            .json(.array(try await store.mailboxes(of: identity(context))))
        }
        routes.get("/api/v1.0/threads/") { request, context in
            let query = try ListQuery(request)
            let page = try await store.threads(of: identity(context), query)
            return .json([
                "results": .array(page.threads.map(\.json)), "next": JSONValue(page.next?.text),
                "total": JSONValue(page.total),
            ])
        }
        routes.get("/api/v1.0/threads/:id/") { _, context in
            guard let thread = try await store.thread(id(context), of: identity(context)) else {
                throw APIFailure.noThread
            }
            return .json(thread)
        }
        routes.post("/api/v1.0/threads/:id/flags/") { request, context in
            let change = try await FlagsChange(request)
            guard let thread = try await store.change(id(context), of: identity(context), change) else {
                throw APIFailure.noThread
            }
            return .json(thread.json)
        }
        routes.get("/api/v1.0/contacts/") { request, context in
            let words = FormFields(decoding: request.query ?? "")?["q"] ?? ""
            return .json(["results": .array(try await store.contacts(String(words.prefix(100)), of: identity(context)))]
            )
        }
    }

    private static func files(_ routes: inout Router.Builder, _ store: MailStore) {
        routes.get("/api/v1.0/blob/:id/") { request, context in
            let name = id(context)
            // A range of another file than the one somebody began with is worth nothing: then the whole.
            let condition = request.fields["If-Range"]
            let range = condition == nil || condition == "\"\(name)\"" ? request.fields["Range"] : nil
            switch try await store.blob(name, of: identity(context), range: range) {
            case .absent: throw APIFailure.noBlob
            case .beyond(let size): return BlobAnswer.beyond(size: size)
            case .found(let blob): return BlobAnswer.make(blob, download: request.query == "download=1")
            }
        }
        // A message that came as an attachment, taken apart for the reader.
        routes.get("/api/v1.0/blob/:id/message/") { _, context in
            guard case .found(let blob) = try await store.blob(id(context), of: identity(context), range: nil) else {
                throw APIFailure.noBlob
            }
            return .json(try ParsedMail(blob.bytes).json)
        }
    }
}
