// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreRouting

extension ReverseProxy {
    /// The upstream's answer without what is between us and it.
    func cleaned(_ answer: HTTPResponse, hasSession: Bool) -> HTTPResponse {
        var response = answer
        response.upgrade = nil
        response.fields.removeHopByHop()
        response.fields.removeAll { $0.hasPrefix("x-nacre-") }
        clear(&response.fields)
        let set = response.fields.values("Set-Cookie")
        if !set.isEmpty {
            response.fields["Set-Cookie"] = nil
            for cookie in cookies.incoming(set, hasSession: hasSession) { response.fields.append("Set-Cookie", cookie) }
        }
        let rule = LocationRule(upstream: upstream.origin, publicOrigin: publicOrigin)
        for name in ["Location", "Content-Location"] {
            if let place = response.fields[name] { response.fields[name] = rule.rewritten(place) }
        }
        return response
    }

    private static let harmlessClearings: Set<String> = [
        "\"cache\"", "\"storage\"", "\"executionContexts\"", "\"clientHints\"", "\"prefetchCache\"",
        "\"prerenderCache\"",
    ]

    /// What of `Clear-Site-Data` may pass: cookies are all of the origin's, the session's and the open round trips'
    /// among them, so the upstream may not have them deleted; nor by `"*"`, nor by a member that is not known yet.
    private func clear(_ fields: inout HTTPFields) {
        let values = fields.values("Clear-Site-Data")
        guard !values.isEmpty else { return }
        var kept: [String] = []
        for member in values.flatMap({ $0.split(separator: ",") }).map({ String($0.trimmingSpaces()) }) {
            if Self.harmlessClearings.contains(member) { kept.append(member) }  // guard: clear-site-data
        }
        fields["Clear-Site-Data"] = kept.isEmpty ? nil : kept.joined(separator: ", ")
    }

    static var tooLarge: HTTPResponse {
        .failure(.contentTooLarge, code: "body_too_large", message: "The body of this request is too large.")
    }

    /// What the client is told about an exchange that failed before its answer began.
    static func answer(to error: NacreError) -> HTTPResponse {
        switch error.code.rawValue {
        case "transport.timeout":
            .failure(
                .gatewayTimeout, code: "upstream.timeout",
                message: "The application behind this gateway takes too long to answer; try again shortly.")
        case "transport.unreachable":
            .failure(
                .badGateway, code: "upstream.unreachable",
                message: "The application behind this gateway cannot be reached; try again shortly.")
        case "transport.tls":
            .failure(
                .badGateway, code: "upstream.tls",
                message: "The application behind this gateway has no valid certificate.")
        case "upstream.too_large":
            .failure(
                .badGateway, code: "upstream.too_large",
                message: "The application behind this gateway gave an answer that is too long.")
        case "http.body_too_large": tooLarge
        case "socket.timeout":
            closing(
                .failure(
                    HTTPStatus(rawValue: 408), code: "body_timeout",
                    message: "The body of this request did not arrive in time."))
        case "http.body_malformed", "http.body_incomplete":
            closing(
                .failure(
                    .badRequest, code: "body_malformed", message: "The body of this request is malformed or cut off."))
        default:
            .failure(
                .badGateway, code: "upstream.protocol",
                message: "The application behind this gateway gave no valid answer; try again shortly.")
        }
    }

    private static func closing(_ response: HTTPResponse) -> HTTPResponse {
        var response = response
        response.fields["Connection"] = "close"
        return response
    }
}
