// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreRouting

extension API {
    /// Single messages: as files, brought in from archives, and their remote images.
    static func messages(_ routes: inout Router.Builder, _ store: MailStore, _ remote: RemoteImages?) {
        routes.get("/api/v1.0/messages/:id/source/") { _, context in
            guard let message = try await store.whole(id(context), of: identity(context)) else {
                throw APIFailure.noMessage
            }
            let name = FileName.safe("\(message.subject.isEmpty ? "message" : message.subject).eml")
            return HTTPResponse(
                fields: [
                    "Content-Type": "message/rfc822", "Content-Disposition": FileName.disposition(name, inline: false),
                    "X-Content-Type-Options": "nosniff", "Content-Security-Policy": BlobAnswer.policy,
                    "Cache-Control": "no-store",
                ],
                body: .bytes(MessageSource(message: message).bytes))
        }
        routes.post("/api/v1.0/imports/") { request, context in
            guard RequestBody.mediaType(request) == "message/rfc822" else {  // guard: import-type
                throw APIFailure(status: 415, code: "bad_type", message: "Send one message as message/rfc822.")
            }
            let word = FormFields(decoding: request.query ?? "")?["mailbox"] ?? Mailbox.archive.rawValue
            guard let mailbox = Mailbox(rawValue: word), mailbox == .archive || mailbox == .inbox else {
                throw APIFailure.badRequest("bad_mailbox", "\"mailbox\" must be archive or inbox.")
            }
            let bytes = try await RequestBody.bytes(request, upTo: MailStore.largestImport)
            return .json(try await store.bring(bytes, into: mailbox, of: identity(context)), status: .created)
        }
        routes.post("/api/v1.0/messages/:id/remote-images/") { request, context in
            let wish = try await RequestBody.object(request, upTo: 1024)
            guard wish == ["allow": true] else {
                throw APIFailure.badRequest("bad_value", "Send {\"allow\": true}.")
            }
            guard try await store.allowRemoteImages(id(context), of: identity(context)) else {
                throw APIFailure.noMessage
            }
            return .json(["remote_images": true])
        }
        routes.get("/api/v1.0/remote-image/:id/") { request, context in
            guard try await store.showsRemoteImages(id(context), of: identity(context)) else {  // guard: remote-consent
                throw APIFailure(
                    status: .forbidden, code: "remote_not_allowed",
                    message: "Remote images of this message are not shown unless its reader asks for them.")
            }
            guard let url = FormFields(decoding: request.query ?? "")?["url"] else {
                throw APIFailure.badRequest("bad_url", "\"url\" must be the https address of an image.")
            }
            guard let remote else {
                throw APIFailure(
                    status: 422, code: "remote_off", message: "This server does not fetch images from elsewhere.")
            }
            return try await remote.image(at: url)
        }
    }
}
