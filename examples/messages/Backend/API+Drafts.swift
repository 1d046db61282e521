// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreRouting

extension API {
    /// Writing and sending.
    static func drafts(_ routes: inout Router.Builder, _ store: MailStore) {
        routes.get("/api/v1.0/drafts/:id/") { _, context in
            guard let draft = try await store.draft(id(context), of: identity(context)) else {
                throw APIFailure.noDraft
            }
            return .json(draft)
        }
        routes.on(.put, "/api/v1.0/drafts/:id/") { request, context in
            let draft = try await DraftContent(request)
            return .json(try await store.save(draft, as: id(context), of: identity(context)))
        }
        routes.delete("/api/v1.0/drafts/:id/") { _, context in
            guard try await store.discard(id(context), of: identity(context)) else { throw APIFailure.noDraft }
            return .json(["discarded": true])
        }
        routes.post("/api/v1.0/drafts/:id/send/") { _, context in
            .json(try await store.send(id(context), of: identity(context)).json)
        }
        routes.post("/api/v1.0/drafts/:id/attachments/") { request, context in
            // A field of its own makes a browser ask first, so that no form of a hostile mail can send one.
            let field = request.fields["X-File-Name"]
            guard let name = field.flatMap({ PercentEncoding.decode($0) }) else {  // guard: file-name-field
                throw APIFailure.badRequest("no_name", "Send the file's name, percent-encoded, as X-File-Name.")
            }
            let position = try filePosition(request.fields["X-File-Position"])
            // Said before the file has come, where its length is known.
            guard request.body.length ?? 0 <= DraftLimits.total else { throw DraftLimits.tooLarge }
            let bytes: [UInt8]
            do {
                bytes = try await RequestBody.bytes(request, upTo: DraftLimits.total)
            } catch let failure as APIFailure where failure.status == .contentTooLarge {
                throw DraftLimits.tooLarge
            }
            let file = try await store.attach(
                name: name, type: RequestBody.mediaType(request), position: position, bytes: bytes, to: id(context),
                of: identity(context))
            return .json(file, status: .created)
        }
        routes.delete("/api/v1.0/drafts/:id/attachments/:file/") { _, context in
            let file = context.parameters["file"] ?? ""
            guard try await store.detach(file, from: id(context), of: identity(context)) else {
                throw APIFailure.noBlob
            }
            return .json(["removed": true])
        }
    }

    /// Where a file stands among those of its draft: two on their way at once may come in either order. Unsaid is 0.
    private static func filePosition(_ field: String?) throws -> Int64 {
        guard let field else { return 0 }
        guard let position = Int64(field), (0...1_000_000).contains(position) else {
            throw APIFailure.badRequest("bad_position", "X-File-Position is a whole number from 0 to 1000000.")
        }
        return position
    }
}
