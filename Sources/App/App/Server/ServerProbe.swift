// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreWire

/// Asks whether the server at an address is one of this app's, before the app is bound to it.
struct ServerProbe: Sendable {
    private static let configPath = "/api/v1.0/config/"

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
        let answer: (response: HTTPResponse, body: [UInt8])
        do {
            answer = try await withTimeLimit(
                limit, time: time, timeout: { Self.unreachable(origin, nil) },
                operation: { [transport] in
                    let response = try await transport.send(HTTPRequest(.get, url, fields: ["Accept": "*/*"]))
                    return (response, try await response.body.collect(upTo: 1 << 16))
                })
        } catch {
            throw Self.fault(origin, error)
        }
        try judge(answer.response, answer.body, url)
    }

    private func judge(_ response: HTTPResponse, _ body: [UInt8], _ url: WebURL) throws(NacreError) {
        let status = response.status.rawValue
        if (300..<400).contains(status), let next = response.fields["Location"].flatMap(url.resolving) {
            throw NacreError(
                "server.moved",
                "\(url.origin.authority) sends this app on to \(next.origin). If that is your server, type its address."
            )
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
