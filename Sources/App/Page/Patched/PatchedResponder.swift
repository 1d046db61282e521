// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreHTTP
import NacreRouting

/// What the patched page gets at its own host below `/_nacre_/`: the bodies of answers, and the script for its workers.
struct PatchedResponder: HTTPResponder {
    static let bodies = "/_nacre_/exchange/"
    static let script = "/_nacre_/page-fetch.js"

    let patched: PatchedFetch
    let script: String

    func respond(to request: HTTPRequest, context: RequestContext) async throws -> HTTPResponse {
        let nothing = HTTPResponse.failure(.notFound, code: "not_found", message: "There is nothing at this address.")
        guard request.method == .get else { return nothing }
        if request.path == Self.script {
            return HTTPResponse(
                fields: ["Content-Type": "text/javascript; charset=utf-8", "Cache-Control": "no-store"],
                body: .text(script))
        }
        guard request.path.hasPrefix(Self.bodies),
            let body = await patched.claim(String(request.path.dropFirst(Self.bodies.count)))
        else { return nothing }
        return HTTPResponse(
            fields: [
                "Content-Type": "application/octet-stream", "Cache-Control": "no-store",
                "X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox; default-src 'none'",
            ], body: body)
    }
}

/// The first script of a worker, which brings the patched `fetch` before the worker's own is run.
///
/// A web view puts no script into workers. The page's `Worker` marks the address, and what is answered there loads the
/// patch and then the worker, whose bytes, place and strictness stay as they are.
enum PatchedWorker {
    private static let mark = "nacre-worker="

    /// The script, or nil where nothing of the kind is asked.
    static func stub(for request: HTTPRequest) -> HTTPResponse? {
        guard request.method == .get, let query = request.query else { return nil }
        // In a script two slashes begin another host.
        guard !request.path.hasPrefix("//") else { return nil }  // guard: patched-worker-host
        let parts = query.split(separator: "&", omittingEmptySubsequences: false)
        guard let last = parts.last, last.hasPrefix(mark) else { return nil }
        let rest = parts.dropLast().joined(separator: "&")
        let target = request.path + (rest.isEmpty ? "" : "?" + rest)
        // A target has no quote and no backslash that could end the text (RFC 3986); anything else is no such request.
        let isPlain = target.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"\"\\".utf8.contains($0) }
        guard isPlain else { return nil }  // guard: patched-worker-quote
        let text: String
        switch last.dropFirst(mark.count) {
        case "classic": text = "importScripts(\"\(PatchedResponder.script)\", \"\(target)\");\n"
        case "module": text = "import \"\(PatchedResponder.script)\";\nimport \"\(target)\";\n"
        default: return nil
        }
        return HTTPResponse(
            fields: ["Content-Type": "text/javascript; charset=utf-8", "Cache-Control": "no-store"], body: .text(text))
    }
}
