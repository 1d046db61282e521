// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore
public import NacreCrypto
public import NacreHTTP

/// The published keys of one issuer, fetched when needed (HO-3).
///
/// Kept for the answer's `max-age` (one minute to one day, ten minutes where it says nothing). An unknown `kid` fetches
/// once more, at once where none did in the last ten seconds, and at most that often however many tokens ask. Callers
/// share one fetch. What names a key that nobody has asked for since is unsure, not wrong. When the issuer does not answer, keys serve for one more hour, and it is asked every ten seconds.
public actor JWKSCache {
    private struct Entry {
        let set: JSONWebKeySet
        let fetched: Instant
        let freshUntil: Instant
    }

    /// The shortest time between two fetches that unknown keys cause.
    public static let refetchInterval: Duration = .seconds(10)
    private static let grace: Duration = .seconds(3600)
    private static let maximumSize = 256 * 1024
    private static let timeLimit: Duration = .seconds(10)

    private let url: WebURL
    private let transport: any HTTPTransport
    private let time: any TimeSource
    private var entry: Entry?
    /// When an unknown key last caused a fetch, which key that was, and how that fetch failed, if it did.
    private var lastMiss: (moment: Instant, keyID: String?, failure: (any Error)?)?
    private var lastFailure: Instant?
    private var fetching: Task<Entry, any Error>?

    /// Keys that `url` publishes.
    public init(url: WebURL, transport: any HTTPTransport, time: any TimeSource) {
        self.url = url
        self.transport = transport
        self.time = time
    }

    /// The key that `header` names.
    ///
    /// - Throws: `jose.unknown_key` when the issuer has no such key, `jwks.not_asked` when that is not known yet, `jose.algorithm`, `jose.ambiguous_key`, and
    ///   `jwks.*` or `transport.*` when the keys cannot be had.
    public func key(for header: JWSHeader) async throws -> PublicKey {
        let current = try await currentEntry()
        if let key = try current.set.key(for: header) { return key }
        let unknown = NacreError("jose.unknown_key", "The token is signed by a key that its issuer does not publish.")
        // Another caller may have fetched while this one waited: look there before asking again.
        if let entry, entry.fetched > current.fetched {
            guard let key = try entry.set.key(for: header) else { throw unknown }
            return key
        }
        // Not counted from the ordinary fetch: a provider may rotate in the moment after it, just before it signs.
        let isDue = lastMiss.map { time.now - $0.moment >= Self.refetchInterval } ?? true
        let mayFetch = isDue || fetching != nil  // guard: jwks-rate-limit
        guard mayFetch else {
            if let failure = lastMiss?.failure { throw failure }
            if areIdentical(lastMiss?.keyID, header.keyID) { throw unknown }  // guard: jwks-unasked
            // Others named unknown keys a moment ago: whether the issuer has this one nobody knows before it is asked again.
            throw NacreError(
                "jwks.not_asked", "The identity provider was asked for its keys a moment ago; try again in ten seconds."
            )
        }
        guard let key = try await fetchAfterMiss(isDue, header.keyID).set.key(for: header) else { throw unknown }
        return key
    }

    /// A failure is kept as long as the interval: until then nobody knows whether the key is a rotated or a made-up one.
    private func fetchAfterMiss(_ isDue: Bool, _ keyID: String?) async throws -> Entry {
        let moment = time.now
        if isDue { lastMiss = (moment, keyID, nil) }
        do { return try await fetch() } catch {
            if lastMiss?.moment == moment { lastMiss?.failure = error }
            throw error
        }
    }

    private func currentEntry() async throws -> Entry {
        guard let entry else { return try await fetch() }
        guard time.now >= entry.freshUntil else { return entry }
        let isGrace = time.now < entry.freshUntil + Self.grace
        // While the issuer does not answer, not everybody waits for it in turn.
        if isGrace, let lastFailure, time.now - lastFailure < Self.refetchInterval { return entry }
        do { return try await fetch() } catch {
            guard isGrace else { throw error }
            return entry
        }
    }

    private func fetch() async throws -> Entry {
        if let fetching { return try await fetching.value }  // guard: jwks-single-flight
        let task = Task { [url, transport, time] in try await Self.load(url, transport, time) }
        fetching = task
        defer { fetching = nil }
        do {
            let loaded = try await task.value
            entry = loaded
            lastFailure = nil
            return loaded
        } catch {
            lastFailure = time.now
            throw error
        }
    }

    private static func load(
        _ url: WebURL, _ transport: any HTTPTransport, _ time: any TimeSource
    ) async throws -> Entry {
        let timeout = { @Sendable in
            NacreError("jwks.timeout", "The identity provider took too long to send its keys; try again.")
        }
        return try await withTimeLimit(timeLimit, time: time, timeout: timeout) {
            let response = try await transport.send(HTTPRequest(.get, url, fields: ["Accept": "application/json"]))
            guard response.status == .ok else {
                throw NacreError(
                    "jwks.status", "The identity provider answered \(response.status.rawValue) instead of its keys.")
            }
            let set = try JSONWebKeySet(parsing: try await response.body.collect(upTo: maximumSize))
            let now = time.now
            return Entry(set: set, fetched: now, freshUntil: now + lifetime(response.fields))
        }
    }

    private static func lifetime(_ fields: HTTPFields) -> Duration {
        let tokens = fields.tokens("Cache-Control")
        if tokens.contains("no-store") || tokens.contains("no-cache") { return .seconds(60) }
        for token in tokens where token.hasPrefix("max-age=") {
            if let seconds = Int64(token.dropFirst("max-age=".count)) {
                return .seconds(min(max(seconds, 60), 86_400))
            }
        }
        return .seconds(600)
    }
}
