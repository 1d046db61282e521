// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreRouting

/// Serves a development server under the page's own origin, its hot-reload socket included (SH-2).
///
/// No policy is added to its documents: such servers inject scripts of their own.
struct DevServerResponder: Sendable {
    let server: Origin
    let page: Origin
    let transport: any HTTPTransport
    let sockets: UpgradeRelay
    let log: Log

    func respond(to request: HTTPRequest) async throws -> HTTPResponse {
        do {
            var out = request
            out.scheme = server.scheme
            out.authority = server.authority
            out.fields.removeHopByHop()
            // Development servers refuse origins they do not know (Vite's host and origin checks).
            if out.fields["Origin"] != nil || request.isWebSocket { out.fields["Origin"] = server.description }
            out.fields.removeAll("Referer")
            if request.isWebSocket {
                UpgradeRelay.copyHandshake(from: request, to: &out)
                return try await sockets.open(out)
            }
            return toPage(try await transport.send(out))
        } catch let error as NacreError {
            log.warning("page.dev_server", ["server": .string("\(server)"), "code": .string(error.code.rawValue)])
            return unreachable(request, error)
        }
    }

    private func toPage(_ response: HTTPResponse) -> HTTPResponse {
        var out = response
        out.fields.removeHopByHop()
        out.fields.removeAll("Strict-Transport-Security")
        if let location = out.fields["Location"], location.hasPrefix(server.description + "/") {
            out.fields["Location"] = page.description + location.dropFirst(server.description.count)
        }
        return out
    }

    /// A page that says what is wrong and comes back by itself, never a blank.
    private func unreachable(_ request: HTTPRequest, _ error: NacreError) -> HTTPResponse {
        guard request.fields["Sec-Fetch-Dest"] == "document" else { return .upstreamFailure(error) }
        var response = FailurePage.response(error, address: server.description)
        response.fields["X-Nacre-Reason"] = error.code.rawValue
        return response
    }
}
