// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreWire

/// The two calls of the hand-off that the app makes itself. Neither carries the session's cookies (SE-4).
struct HandoffClient: Sendable {
    /// How an exchange ended.
    enum Exchange: Sendable {
        case done(HTTPFields, csrf: String)
        /// The server will not: another try with this token is useless.
        case refused(NacreError)
        /// Nobody could be asked.
        case failed(NacreError)
    }

    /// A token lives for a minute; longer tries are useless.
    private static let waits: [Duration] = [.milliseconds(500), .seconds(2), .seconds(5)]
    private static let patience: Duration = .seconds(15)

    let endpoints: SessionEndpoints
    let transport: any HTTPTransport
    let time: any TimeSource

    /// HO-6. A server that is out of reach is asked again a few times; one that has answered is not.
    func exchange(token: String, verifier: String) async -> Exchange {
        let message = ExchangeRequest(token: token, codeVerifier: verifier)
        let request = HTTPRequest(
            .post, endpoints.exchange,
            fields: [
                "Content-Type": "application/json", "Accept": "application/json",
                "Origin": endpoints.origin.description,
            ], body: .bytes(message.json.bytes))
        var last = NacreError("transport.unreachable", "The server cannot be reached; try again when you are online.")
        for attempt in 0...Self.waits.count {
            if attempt > 0 {
                do { try await time.sleep(for: Self.waits[attempt - 1]) } catch { return .failed(last) }
            }
            do {
                let (response, body) = try await send(request)
                if response.status == .tooManyRequests, attempt < Self.waits.count,
                    let seconds = response.fields["Retry-After"].flatMap({ Int64($0) }), (0...20).contains(seconds)
                {
                    try await time.sleep(for: .seconds(seconds))
                    continue
                }
                return Self.outcome(response, body)
            } catch let error as NacreError {
                last = error
            } catch {
                return .failed(last)
            }
        }
        return .failed(last)
    }

    private static func outcome(_ response: HTTPResponse, _ body: [UInt8]) -> Exchange {
        switch response.status.rawValue {
        case 200..<300:
            guard let answer = try? ExchangeResponse(body: body), !response.fields.values("Set-Cookie").isEmpty else {
                return .refused(
                    NacreError("sign_in.server", "The server's answer is not one this app understands; update the app.")
                )
            }
            return .done(response.fields, csrf: answer.csrfToken)
        case 400, 401, 403, 404:
            return .refused(
                NacreError("sign_in.refused", "The sign-in has expired or was already used; please sign in again."))
        case 429:
            return .refused(NacreError("sign_in.too_many", "Too many sign-ins at once; wait a minute and try again."))
        default:
            return .failed(NacreError("sign_in.server", "The server cannot sign you in at present; try again later."))
        }
    }

    /// HO-7's safety net. Whether the server has no such session any more.
    func revoke(_ credentials: SessionCredentials, patience: Duration) async -> Bool {
        var request = HTTPRequest(
            .post, endpoints.revocation,
            fields: ["Cookie": credentials.cookies, "Origin": endpoints.origin.description])
        if let csrf = credentials.csrf { request.fields["X-CSRFToken"] = csrf }
        guard let (response, _) = try? await send(request, patience: patience) else { return false }
        // A session that is gone, or one that this server will never end for us; anything else is worth another try.
        let finals = [401, 403, 404, 410]  // guard: revocation-final
        return response.status.isSuccess || finals.contains(response.status.rawValue)
    }

    private func send(
        _ request: HTTPRequest, patience: Duration = Self.patience
    ) async throws -> (HTTPResponse, [UInt8]) {
        try await withTimeLimit(
            patience, time: time,
            timeout: { NacreError("transport.timeout", "The server does not answer; try again later.") },
            operation: { [transport] () async throws -> (HTTPResponse, [UInt8]) in
                let response = try await transport.send(request)
                return (response, try await response.body.collect(upTo: 64 * 1024))
            })
    }
}
