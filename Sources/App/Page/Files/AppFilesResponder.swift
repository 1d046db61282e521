// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreRouting

/// Answers `/_capacitor_file_/…`, the addresses that `convertFileSrc` makes (NB-9): pictures, films and data of the
/// app's own files, for the page itself. They never run: what a page has downloaded is not the app's code.
struct AppFilesResponder: Sendable {
    static let prefix = "/_capacitor_file_/"
    static let foreign = "/_capacitor_content_/"
    private static let running: Set<String> = [
        "document", "iframe", "frame", "object", "embed", "script", "worker", "sharedworker", "serviceworker",
        "audioworklet", "paintworklet", "manifest", "xslt",
    ]

    private let files: BundleResponder

    init(folders: [String]) { files = BundleResponder(AppFilesSource(folders), api: nil) }

    static func takes(_ path: String) -> Bool {
        guard let path = BundlePath.normalize(path) else { return false }
        return path.hasPrefix(prefix) || path.hasPrefix(foreign)
    }

    func respond(to request: HTTPRequest, access: PageAccess, log: Log) async throws -> HTTPResponse {
        guard access == .full else { return .refusedPage(.foreign, request, log) }  // guard: page-files-foreign
        let destination = request.fields["Sec-Fetch-Dest"] ?? ""
        guard !Self.running.contains(destination) else {  // guard: page-files-run
            return .refusedPage(.document, request, log)
        }
        guard let path = BundlePath.normalize(request.path), path.hasPrefix(Self.prefix) else {
            return .failure(.notFound, code: "not_found", message: "This system has no content addresses.")
        }
        var inner = request
        inner.target =
            "/"
            + path.dropFirst(Self.prefix.count).split(separator: "/").map { PercentEncoding.encode($0) }
            .joined(separator: "/")
        var response = try await files.respond(to: inner)
        response.fields["Content-Security-Policy"] = "sandbox; default-src 'none'"
        return response
    }
}
