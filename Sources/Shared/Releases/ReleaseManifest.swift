// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore

/// A channel's manifest: what the source system's clients read (UP-3), and our signed part beside it.
public struct ReleaseManifest: Sendable, Equatable {
    /// What people call the release.
    public var version: String
    /// Where its bundle lies.
    public var url: String
    public var seal: SourceSystemSeal
    /// Missing in manifests of old.
    public var sequence: Int64?
    /// ISO 8601, as written.
    public var publishedAt: String?
    /// Our envelope; missing in what the source system's publisher wrote.
    public var envelope: SignedEnvelope?

    /// A manifest larger than this is not read.
    public static let maximumBytes = 256 * 1024

    public init(
        version: String, url: String, seal: SourceSystemSeal, sequence: Int64?, publishedAt: String?,
        envelope: SignedEnvelope? = nil
    ) {
        (self.version, self.url, self.seal) = (version, url, seal)
        (self.sequence, self.publishedAt, self.envelope) = (sequence, publishedAt, envelope)
    }

    /// Reads a manifest.
    ///
    /// - Throws: `release.manifest`, `release.envelope`.
    public init(bytes: [UInt8]) throws(NacreError) {
        let damaged = "The manifest of the newest release is damaged."
        guard bytes.count <= Self.maximumBytes else {  // guard: manifest-size
            throw NacreError("release.manifest", "The manifest of the newest release is too large.")
        }
        let value: JSONValue
        do throws(NacreError) { value = try JSONParser.parse(bytes) } catch {
            throw NacreError("release.manifest", damaged, cause: error)
        }
        func text(_ key: String, upTo limit: Int) throws(NacreError) -> String? {
            guard let member = value[key], !member.isNull else { return nil }
            guard let text = member.string, text.utf8.count <= limit, !text.utf8.contains(where: { $0 < 0x20 }) else {
                throw NacreError("release.manifest", "\(damaged) (\"\(key)\")")
            }
            return text
        }
        guard value.object != nil, let version = try text("version", upTo: 100), !version.isEmpty,
            let url = try text("url", upTo: 2048), !url.isEmpty
        else { throw NacreError("release.manifest", damaged) }
        self.version = version
        self.url = url
        // Empty is as good as missing: whoever asks for either gets neither past the guard.
        seal = SourceSystemSeal(
            sessionKey: try text("sessionKey", upTo: 1000) ?? "", checksum: try text("checksum", upTo: 1000) ?? "")
        if let member = value["sequence"], !member.isNull {
            guard let number = member.integer, PayloadReader.exact.contains(number) else {  // guard: manifest-sequence
                throw NacreError("release.manifest", "\(damaged) (\"sequence\")")
            }
            sequence = number
        }
        publishedAt = try text("publishedAt", upTo: 60)
        if let member = value["nacre"], !member.isNull { envelope = try SignedEnvelope(member) }
    }

    /// The manifest's bytes.
    public var bytes: [UInt8] {
        var members: [String: JSONValue] = [
            "version": .string(version), "url": .string(url), "checksum": .string(seal.checksum),
            "sessionKey": .string(seal.sessionKey),
        ]
        members["sequence"] = sequence.map(JSONValue.integer)
        members["publishedAt"] = publishedAt.map(JSONValue.string)
        members["nacre"] = envelope?.json
        return JSONValue.object(members).bytes
    }
}
