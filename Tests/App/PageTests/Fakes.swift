// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacrePorts
import Synchronization

@testable import NacrePage

/// A session that adds what a real one would, and remembers what it saw.
final class FakeAuthority: SessionAuthority {
    private let seen = Mutex<[HTTPResponse]>([])
    private let failure: NacreError?

    init(failure: NacreError? = nil) { self.failure = failure }

    var observed: [HTTPResponse] { seen.withLock { $0 } }

    func authorize(_ request: HTTPRequest) async throws -> AuthorizedRequest {
        if let failure { throw failure }
        var request = request
        request.fields["Cookie"] = "session=native"
        if request.method.isUnsafe {
            request.fields["X-CSRFToken"] = "csrf"
            request.fields["Origin"] = "\(request.scheme)://\(request.authority)"
        }
        return AuthorizedRequest(request: request, generation: 1)
    }

    func observe(_ response: HTTPResponse, to request: AuthorizedRequest) async {
        seen.withLock { $0.append(response) }
    }
}

/// An upstream made of a closure that remembers what it was asked.
final class FakeUpstream: HTTPTransport {
    private let seen = Mutex<[HTTPRequest]>([])
    private let answer: @Sendable (HTTPRequest) throws -> HTTPResponse

    init(_ answer: @escaping @Sendable (HTTPRequest) throws -> HTTPResponse = { _ in HTTPResponse(body: .text("ok")) })
    {
        self.answer = answer
    }

    var requests: [HTTPRequest] { seen.withLock { $0 } }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        seen.withLock { $0.append(request) }
        return try answer(request)
    }
}

/// A bundle in memory.
struct MemoryBundle: BundleSource {
    let stamp = "memory"
    var files: [String: String] = [
        "/index.html": "<!doctype html><title>App</title><script type=module src=/app.js></script>",
        "/app.js": "export {}", "/docs/index.html": "<p>docs", "/logo.png": "0123456789",
    ]

    func file(at path: String) async throws -> BundleFile? {
        guard let text = files[path] else { return nil }
        let bytes = Array(text.utf8)
        return BundleFile(
            size: bytes.count, type: MediaTypes.type(ofPath: path), tag: "t\(bytes.count)\(path.utf8.count)"
        ) {
            HTTPBody.bytes(Array(bytes[$0])).stream
        }
    }
}

/// A request as the browser engine would mark it.
func marked(
    _ method: HTTPMethod = .get, _ target: String = "/", host: String = "localhost", site: String? = nil,
    mode: String? = nil, destination: String? = nil, origin: String? = nil, more: [(String, String)] = [],
    body: HTTPBody = .none
) -> HTTPRequest {
    var fields = HTTPFields()
    fields["Sec-Fetch-Site"] = site
    fields["Sec-Fetch-Mode"] = mode
    fields["Sec-Fetch-Dest"] = destination
    fields["Origin"] = origin
    for (name, value) in more { fields.append(name, value) }
    return HTTPRequest(method: method, scheme: "https", authority: host, target: target, fields: fields, body: body)
}

extension HTTPResponse {
    func text() async throws -> String { String(decoding: try await body.collect(upTo: 1 << 20), as: UTF8.self) }
}
