// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreHTTP
package import NacrePorts

/// A session of an account that is gone, of whose end its server has not heard.
package struct OwedRevocation: Sendable, Equatable {
    let origin: Origin
    let credentials: SessionCredentials
    let since: Instant

    var json: JSONValue {
        [
            "origin": .string(origin.description), "since": .integer(since.milliseconds),
            "credentials": credentials.json,
        ]
    }

    init(origin: Origin, credentials: SessionCredentials, since: Instant) {
        self.origin = origin
        self.credentials = credentials
        self.since = since
    }

    init?(json: JSONValue) {
        guard let origin = json["origin"]?.string.flatMap({ try? Origin($0) }), let since = json["since"]?.integer,
            let credentials = json["credentials"].flatMap(SessionCredentials.init(json:))
        else { return nil }
        self.init(origin: origin, credentials: credentials, since: Instant(milliseconds: since))
    }

    /// Whether it is the same session, whenever it was noted.
    fileprivate func isSame(_ other: OwedRevocation) -> Bool {
        origin == other.origin && credentials == other.credentials
    }
}

/// The revocations of accounts that are gone, as they rest in the secret store of whoever removes them (SE-5). The calls
/// must come one after the other.
package struct OwedRevocations: Sendable {
    static let storeName = "owed-revocations"
    /// As long as a sign-out's own revocation is tried.
    static let memory: Duration = .seconds(30 * 24 * 3600)

    private let transport: any HTTPTransport
    private let time: any TimeSource

    package init(transport: any HTTPTransport, time: any TimeSource) {
        self.transport = transport
        self.time = time
    }

    /// Adds these; what is noted already stays as it is.
    ///
    /// - Throws: `secrets.*`.
    package func add(_ more: [OwedRevocation], to secrets: any SecretStore) async throws(NacreError) {
        var list = try await read(secrets)
        for revocation in more where !list.contains(where: { $0.isSame(revocation) }) { list.append(revocation) }
        try await write(list, secrets)
    }

    /// Tells the servers, all at once, and returns how many are left to be told later; with none left nothing is in the
    /// store.
    ///
    /// - Throws: `secrets.*`.
    package func settle(in secrets: any SecretStore) async throws(NacreError) -> Int {
        let list = try await read(secrets)
        let left = await withTaskGroup(of: OwedRevocation?.self) { group in
            for revocation in list where time.now - revocation.since < Self.memory {  // guard: owed-age
                group.addTask { await isHeard(revocation) ? nil : revocation }
            }
            return await group.reduce(into: [OwedRevocation]()) { left, revocation in
                if let revocation { left.append(revocation) }
            }
        }
        if left.isEmpty {
            try await secrets.remove(Self.storeName)
        } else if left.count < list.count {
            try await write(left.sorted { $0.since < $1.since }, secrets)
        }
        return left.count
    }

    private func isHeard(_ revocation: OwedRevocation) async -> Bool {
        let client = HandoffClient(
            endpoints: SessionEndpoints(origin: revocation.origin), transport: transport, time: time)
        return await client.revoke(revocation.credentials, patience: .seconds(15))
    }

    /// What can no longer be read can no longer be told.
    private func read(_ secrets: any SecretStore) async throws(NacreError) -> [OwedRevocation] {
        guard let bytes = try await secrets.readWhole(Self.storeName), let json = try? JSONParser.parse(bytes),
            json["version"] == 1
        else { return [] }
        return (json["owed"]?.array ?? []).compactMap { OwedRevocation(json: $0) }
    }

    private func write(_ list: [OwedRevocation], _ secrets: any SecretStore) async throws(NacreError) {
        let json: JSONValue = ["version": 1, "owed": .array(list.map(\.json))]
        try await secrets.write(Self.storeName, json.bytes)
    }
}
