// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreJOSE
import Synchronization

/// Tells clients that a session is over (OpenID Connect Back-Channel Logout 1.0), until they have heard it.
///
/// Each try is a new token: a client that obeyed the last one but whose answer was lost accepts this one too. Only
/// addresses of the configuration are called, redirects are not followed, and of the answer only the status counts.
struct LogoutSender: Sendable {
    /// So many clients are told at the same time.
    private static let width = 8
    private static let timeLimit: Duration = .seconds(10)
    private static let tokenLifetime: Duration = .seconds(120)

    let core: ProviderCore
    let transport: any HTTPTransport

    /// Tells everybody whose turn it is; answers how many have heard it.
    func deliver() async throws -> Int {
        var heard = 0
        while !Task.isCancelled {
            let (due, abandoned) = try await core.store.takeLogouts(limit: Self.width, now: core.time.now)
            for logout in abandoned {
                core.log.error(
                    "logout.given_up",
                    ["client": .string(logout.clientID), "attempts": JSONValue(logout.attempts)])
            }
            heard += await withTaskGroup(of: Bool.self) { group in
                for logout in due { group.addTask { await tell(logout) } }
                return await group.reduce(into: 0) { count, told in if told { count += 1 } }
            }
            if due.count < Self.width { break }
        }
        return heard
    }

    private func tell(_ logout: PendingLogout) async -> Bool {
        do {
            guard let client = core.configuration.client(logout.clientID), let address = client.backchannelLogoutURI
            else {
                try await core.store.finish(logout)
                return false
            }
            let form: FormFields = ["logout_token": try await token(logout, client)]
            let request = HTTPRequest(
                .post, try WebURL(address), fields: ["Content-Type": "application/x-www-form-urlencoded"],
                body: .text(form.encoded))
            let timeout = { @Sendable in NacreError("provider.logout_timeout", "The client took too long to answer.") }
            let status = try await withTimeLimit(Self.timeLimit, time: core.time, timeout: timeout) {
                try await transport.send(request).status
            }
            guard status.isSuccess else {
                failed(logout, "it answered \(status.rawValue)")
                return false
            }
            try await core.store.finish(logout)
            core.log.info("logout.told", ["client": .string(logout.clientID)])
            return true
        } catch {
            failed(logout, "\(error)")
            return false
        }
    }

    private func failed(_ logout: PendingLogout, _ reason: String) {
        core.log.warning(
            "logout.not_told",
            [
                "client": .string(logout.clientID), "attempts": JSONValue(logout.attempts), "reason": .string(reason),
            ])
    }

    private func token(_ logout: PendingLogout, _ client: ProviderClient) async throws -> String {
        let signer = try await core.keys.signer(client.idTokenAlgorithm)
        let now = core.time.now
        let claims: JSONValue = [
            "iss": .string(core.issuer), "aud": .string(client.id), "iat": .integer(now.seconds),
            "exp": .integer((now + Self.tokenLifetime).seconds), "jti": .string(core.random.identifier()),
            "sub": .string(logout.subject), "sid": .string(logout.sid),
            "events": ["http://schemas.openid.net/event/backchannel-logout": [:]],
        ]
        return try JWS.sign(claims, with: signer.key, keyID: signer.id, type: "logout+jwt")
    }
}

/// Wakes the sender when a session has ended, so that clients hear of it within moments and not at the next look.
final class LogoutBell: Sendable {
    private let listener = Mutex<AsyncStream<Void>.Continuation?>(nil)

    func ring() { _ = listener.withLock { $0?.yield() } }

    /// Rings, beginning at once, for whoever listens last.
    func rings() -> (stream: AsyncStream<Void>, end: @Sendable () -> Void) {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        listener.withLock { $0 = continuation }
        continuation.yield()
        return (stream, { continuation.finish() })
    }
}
