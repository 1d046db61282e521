// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacrePorts
import NacreRouting
import Synchronization

/// Serves a bundle's files at the page's host: SPA fallback, validators, ranges, a policy where the document has none.
struct BundleResponder: Sendable {
    private let bundle: any BundleSource
    private let policies: PolicyCache

    init(_ bundle: any BundleSource, api: Origin?) {
        self.bundle = bundle
        policies = PolicyCache(api: api)
    }

    func respond(to request: HTTPRequest) async throws -> HTTPResponse {
        guard request.method == .get || request.method == .head else {
            var response = HTTPResponse.failure(
                .methodNotAllowed, code: "method_not_allowed", message: "The bundle's files can only be read.")
            response.fields["Allow"] = "GET, HEAD"
            return response
        }
        guard let path = BundlePath.normalize(request.path) else {
            return .failure(.badRequest, code: "bad_path", message: "There is no file of such a name.")
        }
        if let file = try await bundle.file(at: path.hasSuffix("/") ? path + "index.html" : path) {
            return try await answer(request, with: file)
        }
        if !path.hasSuffix("/"), try await bundle.file(at: path + "/index.html") != nil {
            return .redirect(to: request.path + "/" + (request.query.map { "?" + $0 } ?? ""), status: 308)
        }
        // A route of a single-page app: only where a person navigates, so that a missing script stays an error.
        if request.fields["Sec-Fetch-Dest"] == "document", BundlePath.mayBeRoute(path),
            let index = try await bundle.file(at: "/index.html")
        {
            return try await answer(request, with: index)
        }
        return .failure(.notFound, code: "not_found", message: "The bundle has no file at this address.")
    }

    private func answer(_ request: HTTPRequest, with file: BundleFile) async throws -> HTTPResponse {
        let tag = "\"\(file.tag)\""
        var fields: HTTPFields = [
            "Content-Type": file.type, "Cache-Control": "no-cache", "ETag": tag, "Accept-Ranges": "bytes",
            "X-Content-Type-Options": "nosniff",
        ]
        if file.type.hasPrefix("text/html"), let policy = try await policies.policy(for: file) {
            fields["Content-Security-Policy"] = policy
        }
        if Self.matches(request.fields.values("If-None-Match"), tag) {
            // WebKitGTK closes the connection behind an answer without a length, and a new one costs it tens of
            // milliseconds; a 304 may tell the length that its 200 would have (RFC 9110 section 8.6).
            fields["Content-Length"] = "\(file.size)"
            return HTTPResponse(status: .notModified, fields: fields)
        }
        var range = ByteRange.all
        if request.method == .get, request.fields["If-Range"].map({ $0 == tag }) ?? true {
            range = ByteRange(request.fields["Range"], size: file.size)
        }
        switch range {
        case .all:
            return HTTPResponse(fields: fields, body: .stream(file.read(0..<file.size), length: file.size))
        case .part(let part):
            fields["Content-Range"] = "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(file.size)"
            return HTTPResponse(status: 206, fields: fields, body: .stream(file.read(part), length: part.count))
        case .unsatisfiable:
            fields["Content-Range"] = "bytes */\(file.size)"
            return HTTPResponse(status: 416, fields: fields)
        }
    }

    /// Weak comparison (RFC 9110 section 13.1.2).
    private static func matches(_ fields: [String], _ tag: String) -> Bool {
        fields.flatMap { $0.parts(at: ",") }.contains { candidate in
            let text = candidate.trimmingSpaces()
            return text == "*" || text == tag || text == "W/" + tag
        }
    }
}

/// Remembers the policies of the documents served last.
private final class PolicyCache: Sendable {
    private let api: Origin?
    private let known = Mutex<[String: String?]>([:])
    private static let largestDocument = 8 << 20

    init(api: Origin?) { self.api = api }

    func policy(for file: BundleFile) async throws -> String? {
        if let policy = known.withLock({ $0[file.tag] }) { return policy }
        let html = try await HTTPBody.stream(file.read(0..<file.size), length: file.size)
            .collect(upTo: Self.largestDocument)
        let policy = PagePolicy.header(for: html, api: api)
        known.withLock { known in
            if known.count >= 64 { known = [:] }
            known[file.tag] = .some(policy)
        }
        return policy
    }
}
