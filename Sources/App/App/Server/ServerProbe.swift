// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreWire

/// Asks whether the server at an address is one of this app's, before the app is bound to it.
struct ServerProbe: Sendable {
    private static let configPath = "/api/v1.0/config/"
    private static let redirects = 5

    /// The cause of `server.moved`: where the server sends the app.
    struct Moved: Error { let target: Origin }

    let transport: any HTTPTransport
    /// `api.probe`; where it is nil the server half's own configuration is asked for.
    let path: String?
    let time: any TimeSource
    var limit: Duration = .seconds(15)

    /// Returns when the server answers as it should. Nothing of a session or of the person is sent.
    ///
    /// - Throws: `server.unreachable`, `server.certificate`, `server.proxy`, `server.moved`, `server.unwell`,
    ///   `server.foreign`, each in plain words.
    func check(_ origin: Origin) async throws(NacreError) {
        let url = WebURL(origin: origin, target: path ?? Self.configPath)
        let answer: (response: HTTPResponse, body: [UInt8], url: WebURL)
        do {
            answer = try await withTimeLimit(
                limit, time: time, timeout: { Self.unreachable(origin, nil) },
                operation: { try await ask(url) })
        } catch {
            throw Self.fault(origin, error)
        }
        try judge(answer.response, answer.body, answer.url)
    }

    /// The answer behind redirects within the server: a slash that is missing, say. What leads elsewhere is not followed.
    private func ask(_ first: WebURL) async throws -> (HTTPResponse, [UInt8], WebURL) {
        var url = first
        for _ in 0...Self.redirects {
            let response = try await transport.send(HTTPRequest(.get, url, fields: ["Accept": "*/*"]))
            let body = try await response.body.collect(upTo: 1 << 16)
            guard let next = Self.redirect(response, url), next.origin == first.origin else {  // guard: server-moved
                return (response, body, url)
            }
            url = next
        }
        throw NacreError(
            "server.foreign", "\(first.origin.authority) sends this app round in circles; check the address.")
    }

    private static func redirect(_ response: HTTPResponse, _ url: WebURL) -> WebURL? {
        guard (300..<400).contains(response.status.rawValue) else { return nil }
        return response.fields["Location"].flatMap(url.resolving)
    }

    private func judge(_ response: HTTPResponse, _ body: [UInt8], _ url: WebURL) throws(NacreError) {
        let status = response.status.rawValue
        if let next = Self.redirect(response, url) {
            throw NacreError(
                "server.moved",
                "\(url.origin.authority) sends this app on to \(next.origin). If that is your server, type its address.",
                cause: Moved(target: next.origin))
        }
        guard status < 500 else {
            throw NacreError(
                "server.unwell",
                "\(url.origin.authority) answers that it cannot work at present (\(status)); try again later.")
        }
        guard (200..<300).contains(status), path != nil || Self.isConfiguration(body) else {  // guard: server-foreign
            throw NacreError(
                "server.foreign",
                "Something answers at \(url.origin.authority), but it is no server of this app; check the address.")
        }
    }

    private static func isConfiguration(_ body: [UInt8]) -> Bool {
        guard let json = try? JSONParser.parse(body) else { return false }
        return json["ENVIRONMENT"]?.string != nil && (try? ConfigResponse(json: json)) != nil
    }

    private static func unreachable(_ origin: Origin, _ cause: (any Error)?) -> NacreError {
        NacreError(
            "server.unreachable",
            "\(origin.authority) does not answer. Check the address, and whether this device is connected.",
            cause: cause)
    }

    private static func fault(_ origin: Origin, _ error: any Error) -> NacreError {
        guard let known = error as? NacreError else { return unreachable(origin, error) }
        let code = known.code.rawValue
        if code.hasPrefix("server.") { return known }
        if code == "transport.tls" { return NacreError("server.certificate", known.message, cause: known) }
        if code.hasPrefix("proxy.") { return NacreError("server.proxy", known.message, cause: known) }
        if code == "http.body_too_large" {
            return NacreError(
                "server.foreign", "\(origin.authority) is no server of this app; check the address.", cause: known)
        }
        return unreachable(origin, known)
    }
}
