// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreRouting

/// Answers at the page's own host: the bundle (or the development server), and the bridge's space under `/_nacre_/`.
struct PageHostResponder: HTTPResponder {
    /// Everything below belongs to the toolkit; no bundle can have such files.
    static let reserved = "/_nacre_/"

    let policy: PageAccessPolicy
    let files: @Sendable (HTTPRequest) async throws -> HTTPResponse
    let bridge: (any HTTPResponder)?
    var media: MediaProxyResponder?
    let appFiles: AppFilesResponder
    let log: Log
    /// Whether the page's script carries its requests, its workers' too.
    var isPatched = false

    func respond(to request: HTTPRequest, context: RequestContext) async throws -> HTTPResponse {
        if let media, BundlePath.normalize(request.path) == MediaProxyURL.path {
            return try await media.respond(to: request)
        }
        let access = policy.access(to: .page, for: request)
        if case .refused(let reason) = access { return .refusedPage(reason, request, log) }
        if AppFilesResponder.takes(request.path) {
            return try await appFiles.respond(to: request, access: access, log: log)
        }
        if isPatched, let stub = PatchedWorker.stub(for: request) { return stub }
        guard request.path == "/_nacre_" || BundlePath.normalize(request.path)?.hasPrefix(Self.reserved) == true else {
            return try await files(request)
        }
        let destination = request.fields["Sec-Fetch-Dest"] ?? ""
        let isFramed = ["document", "iframe", "frame", "object", "embed"].contains(destination)
        guard access == .full, !isFramed else { return .refusedPage(.foreign, request, log) }  // guard: page-reserved
        guard let bridge else {
            return .failure(.notFound, code: "not_found", message: "There is nothing at this address.")
        }
        return try await bridge.respond(to: request, context: context)
    }
}
