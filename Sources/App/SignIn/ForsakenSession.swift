// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreHTTP
package import NacrePorts

/// What an account that is being removed has left behind: its session, and sessions whose end the server has not heard of.
package struct ForsakenSession: Sendable {
    private let secrets: any SecretStore
    private let attempts: (any AttemptStore)?
    private let server: Origin?
    private let transport: any HTTPTransport
    private let time: any TimeSource
    private let random: any RandomSource

    /// - Parameters:
    ///   - attempts: the account's attempts; nil where there are none.
    ///   - server: the server they are of, where no session tells.
    package init(
        secrets: any SecretStore, attempts: (any AttemptStore)?, server: Origin?, transport: any HTTPTransport,
        time: any TimeSource, random: any RandomSource
    ) {
        self.secrets = secrets
        self.attempts = attempts
        self.server = server
        self.transport = transport
        self.time = time
        self.random = random
    }

    /// Ends the sessions on their servers, as far as those can be reached, and takes every secret away in any case (SE-5).
    /// May be called again.
    ///
    /// - Parameter owe: is given what a server has not heard of, before the secrets go.
    /// - Throws: `secrets.*` when the store lets nothing be read or removed; then nothing of it is gone. What `owe` throws.
    package func end(
        owe: ([OwedRevocation]) async throws(NacreError) -> Void = { _ in }
    ) async throws(NacreError) {
        let record = try await secrets.readWhole(AppSession.storeName).flatMap { SessionRecord(parsing: $0) }
        if let origin = record.flatMap({ try? Origin($0.origin) }) ?? server {
            let endpoints = SessionEndpoints(origin: origin)
            let client = HandoffClient(endpoints: endpoints, transport: transport, time: time)
            let sessions = credentials(of: record, for: endpoints).map { ($0, time.now) } + (await unheard())
            var owed: [OwedRevocation] = []
            for (credentials, since) in sessions {
                // guard: forsaken-revoked
                let isHeard = await client.revoke(credentials, patience: SignInFlow.revocationPatience)
                if !isHeard {
                    owed.append(OwedRevocation(origin: origin, credentials: credentials, since: since))
                }
            }
            if !owed.isEmpty { try await owe(owed) }  // guard: forsaken-owed
        }
        try await secrets.remove(AppSession.storeName)  // guard: forsaken-secrets
        try await secrets.remove(AttemptSealer.keyName)
    }

    private func credentials(of record: SessionRecord?, for endpoints: SessionEndpoints) -> [SessionCredentials] {
        guard let record else { return [] }
        let jar = CookieJar()
        jar.restore(record.cookies)
        guard let cookies = jar.header(for: endpoints.revocation, now: time.now) else { return [] }
        return [SessionCredentials(cookies: cookies, csrf: record.csrf, attempt: record.attempt)]
    }

    /// Revocations that wait, and the session of a sign-out that was not finished.
    private func unheard() async -> [(SessionCredentials, since: Instant)] {
        guard let attempts, (try? await secrets.read(AttemptSealer.keyName)) ?? nil != nil,
            let sealer = try? await AttemptSealer.open(secrets, random: random)
        else { return [] }
        let leaving = ((try? await attempts.attempts()) ?? []).filter { [.leaving, .revoking].contains($0.phase) }
        let waiting = (try? await attempts.revocations()) ?? []
        let rows =
            leaving.map { ($0.id, $0.sealed, $0.startedAt) } + waiting.map { ($0.id, $0.sealed, $0.since) }
        return rows.compactMap { id, sealed, since in
            sealer.open(sealed, attempt: id).flatMap(SessionCredentials.init(json:)).map { ($0, since) }
        }
    }
}
