// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP

/// Sends requests to the identity provider and reads JSON; every way to fail has its own code and sentence.
struct ProviderClient: Sendable {
    private static let maximumSize = 256 * 1024

    let transport: any HTTPTransport
    let time: any TimeSource
    let timeLimit: Duration

    /// An answer of the provider: status, JSON, and the media type.
    struct Answer: Sendable {
        let status: HTTPStatus
        let type: String
        let body: [UInt8]

        /// The JSON object in it. - Throws: `oidc.not_json`.
        func object(from place: WebURL) throws(NacreError) -> JSONValue {
            guard let value = try? JSONParser.parse(body), value.object != nil else {
                throw NacreError(
                    "oidc.not_json",
                    "The identity provider answered \(status.rawValue) with \(type.isEmpty ? "no type" : type) instead of "
                        + "JSON at \(place.origin)\(place.path); look there for an error page or a login wall.")
            }
            return value
        }
    }

    /// Sends one request within the time limit.
    ///
    /// - Throws: `oidc.unreachable`, `oidc.timeout`.
    func send(_ request: HTTPRequest) async throws -> Answer {
        let place = "\(request.scheme)://\(request.authority)\(request.path)"
        let timeout = { @Sendable in
            NacreError("oidc.timeout", "The identity provider takes too long to answer at \(place); try again shortly.")
        }
        do {
            return try await withTimeLimit(timeLimit, time: time, timeout: timeout) {
                let response = try await transport.send(request)
                let body = try await response.body.collect(upTo: Self.maximumSize)
                return Answer(status: response.status, type: response.fields.mediaType, body: body)
            }
        } catch let error as NacreError where error.code == "oidc.timeout" {
            throw error
        } catch let error as NacreError {
            throw NacreError(
                error.code == "transport.timeout" ? "oidc.timeout" : "oidc.unreachable",
                "The identity provider cannot be reached at \(place); try again shortly.", cause: error)
        }
    }

    /// Gets one JSON document. - Throws: as `send`; `oidc.status`, `oidc.not_json`.
    func document(_ url: WebURL) async throws -> JSONValue {
        let answer = try await send(HTTPRequest(.get, url, fields: ["Accept": "application/json"]))
        guard answer.status == .ok else {
            throw NacreError(
                "oidc.status",
                "The identity provider answered \(answer.status.rawValue) at \(url.origin)\(url.path); check the issuer."
            )
        }
        return try answer.object(from: url)
    }
}

/// The discovery document of one issuer, kept for an hour; an old one serves while the provider does not answer.
actor MetadataCache {
    private static let lifetime: Duration = .seconds(3600)

    private let issuer: String
    private let client: ProviderClient
    /// While the provider does not answer, not everybody waits for it in turn.
    private static let pause: Duration = .seconds(10)

    private var known: (metadata: ProviderMetadata, fetched: Instant)?
    private var failed: Instant?
    private var fetching: Task<ProviderMetadata, any Error>?

    init(issuer: String, client: ProviderClient) {
        self.issuer = issuer
        self.client = client
    }

    /// The provider's metadata. - Throws: `oidc.*`.
    func metadata() async throws -> ProviderMetadata {
        if let known, client.time.now - known.fetched < Self.lifetime { return known.metadata }
        if let known, let failed, client.time.now - failed < Self.pause { return known.metadata }
        do {
            return try await fetch()
        } catch {
            // Another issuer at this address is no failure to ride out.
            guard let known, (error as? NacreError)?.code != "oidc.issuer_mismatch" else { throw error }
            failed = client.time.now
            return known.metadata
        }
    }

    private func fetch() async throws -> ProviderMetadata {
        if let fetching { return try await fetching.value }
        let task = Task { [issuer, client] in
            let base = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
            let url = try WebURL(base + "/.well-known/openid-configuration")
            return try ProviderMetadata(try await client.document(url), issuer: issuer)
        }
        fetching = task
        defer { fetching = nil }
        let metadata = try await task.value
        known = (metadata, client.time.now)
        return metadata
    }
}
