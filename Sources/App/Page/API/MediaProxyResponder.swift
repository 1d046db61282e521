// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreRouting
import Synchronization

/// Serves the API's media at the page's own host (NB-4): fetched natively with the session and streamed, never held.
struct MediaProxyResponder: Sendable {
    let policy: PageAccessPolicy
    let page: Origin
    /// The API's origin as the page sees it, and as it is called.
    let origins: [Origin]
    let api: APIResponder
    let log: Log

    func respond(to request: HTTPRequest) async throws -> HTTPResponse {
        guard let text = MediaProxyURL.target(query: request.query), let url = try? WebURL(text) else {
            return .failure(.badRequest, code: "page.proxy", message: "The media proxy takes one address, as ?u=<url>.")
        }
        guard origins.contains(url.origin) else {  // guard: proxy-configured-origin
            return .refusedPage(.proxyOrigin, request, log)
        }
        if case .refused(let reason) = policy.proxyAccess(for: request, to: url.path) {
            return .refusedPage(reason, request, log)
        }
        var inner = request
        inner.scheme = url.origin.scheme
        inner.authority = url.origin.authority
        inner.target = url.target
        do {
            let response = RangeSlice.apply(to: try await api.fetch(inner), of: request)
            return toPage(response, from: url)
        } catch let error as NacreError {
            log.notice("page.media_failed", ["path": .string(url.path), "code": .string(error.code.rawValue)])
            return toPage(.upstreamFailure(error), from: url)
        }
    }

    private func toPage(_ response: HTTPResponse, from url: WebURL) -> HTTPResponse {
        var out = response
        // Should an engine ever show it as a document all the same, it is nobody's and does nothing.
        out.fields["Content-Security-Policy"] = "sandbox; default-src 'none'"
        out.fields["X-Content-Type-Options"] = "nosniff"
        out.fields["Cross-Origin-Resource-Policy"] = "cross-origin"
        out.fields["Cache-Control"] = "no-store"
        // A redirect within the API stays in the proxy; elsewhere the page goes by itself, and without the session.
        if let location = out.fields["Location"] {
            let next = url.resolving(location)
            out.fields["Location"] = next.map {
                origins.contains($0.origin) ? MediaProxyURL.wrap($0.description, page: page) : $0.description
            }
        }
        return out
    }
}

/// Makes a partial answer of a whole one where a server ignores `Range`: films can then be seeked in all the same.
enum RangeSlice {
    /// The part that `request` asks for. Bytes before it are read and dropped, so memory stays flat.
    static func apply(to response: HTTPResponse, of request: HTTPRequest) -> HTTPResponse {
        // With If-Range the whole may be the right answer: the thing has changed.
        guard request.method == .get, response.status == .ok, request.fields["If-Range"] == nil,
            response.fields["Content-Encoding"] == nil, let size = response.body.length
        else { return response }
        var out = response
        switch ByteRange(request.fields["Range"], size: size) {
        case .all: return response
        case .unsatisfiable:
            out.status = 416
            out.fields["Content-Range"] = "bytes */\(size)"
            out.body = .none
        case .part(let part):
            out.status = 206
            out.fields["Content-Range"] = "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(size)"
            out.body = .stream(slice(response.body.stream, part), length: part.count)
        }
        return out
    }

    private static func slice(_ stream: ByteStream, _ part: Range<Int>) -> ByteStream {
        let position = Mutex(0)
        return ByteStream {
            while true {
                let start = position.withLock { $0 }
                guard start < part.upperBound, let chunk = try await stream.next() else { return nil }
                position.withLock { $0 = start + chunk.count }
                let first = max(part.lowerBound, start)
                let end = min(part.upperBound, start + chunk.count)
                if first >= end { continue }
                return end - first == chunk.count ? chunk : Array(chunk[(first - start)..<(end - start)])
            }
        }
    }
}
