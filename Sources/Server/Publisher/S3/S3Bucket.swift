// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
import NacreCrypto
package import NacreHTTP
import NacreReleases
import Synchronization

/// A bucket of an S3-compatible store, by path-style requests that are signed one by one.
///
/// What the network or the store breaks is tried again a few times; a put that may have arrived before its answer was lost
/// is looked for before it counts as refused.
package final class S3Bucket: ReleaseBucket {
    let configuration: S3Configuration
    private let client: S3Client
    private let keeps = Mutex<Bool?>(nil)

    package var name: String { "the bucket \(configuration.bucket) at \(configuration.endpoint)" }

    package init(
        _ configuration: S3Configuration, transport: any HTTPTransport, time: any TimeSource, random: any RandomSource,
        threads: WorkThreads
    ) {
        self.configuration = configuration
        client = S3Client(
            configuration: configuration, sender: PatientSender(transport: transport, time: time, random: random),
            time: time, threads: threads)
    }

    package func get(_ key: String, upTo limit: Int) async throws -> BucketItem? {
        let answer = try await client.send(.get, key, what: "read \(key)", limit: limit)
        guard answer.status != .notFound else { return try answer.missing(configuration) }
        return BucketItem(
            bytes: answer.body, tag: answer.fields["ETag"] ?? TreeDigest(of: answer.body).description)
    }

    package func download(_ key: String, to path: String, upTo limit: Int) async throws -> Bool {
        let answer = try await client.send(.get, key, what: "read \(key)", limit: limit, into: path)
        guard answer.status == .notFound else { return true }
        let nothing: Bool? = try answer.missing(configuration)
        return nothing ?? false
    }

    package func size(_ key: String) async throws -> Int? {
        let answer = try await client.send(.head, key, what: "look at \(key)")
        guard answer.status != .notFound else { return nil }
        return answer.length
    }

    package func put(_ key: String, _ content: BucketContent, _ condition: PutCondition) async throws -> Bool {
        guard condition != .always else { return try await put(key, content, fields: [:]) }
        guard try await keepsConditions(Self.channel(of: key)) else {
            if case .ifAbsent = condition, try await size(key) != nil { return false }
            if case .ifTag(let tag) = condition, try await get(key, upTo: .max)?.tag != tag { return false }
            return try await put(key, content, fields: [:])
        }
        switch condition {
        case .ifTag(let tag): return try await put(key, content, fields: ["If-Match": tag])
        default: return try await put(key, content, fields: ["If-None-Match": "*"])
        }
    }

    private func put(_ key: String, _ content: BucketContent, fields: HTTPFields) async throws -> Bool {
        let answer = try await client.send(.put, key, what: "put \(key)", content: content, fields: fields)
        guard answer.status == 412 else { return true }
        // The answer to a first attempt may have been lost: then it is ours that lies there.
        guard answer.attempts > 1, case .bytes(let bytes) = content else { return false }
        return try await get(key, upTo: bytes.count)?.bytes == bytes
    }

    private static func channel(of key: String) -> String {
        let parts = key.split(separator: "/")
        return parts.count > 1 ? String(parts[1]) : ""
    }

    package func list(_ prefix: String) async throws -> [String] {
        var keys: [String] = []
        var token: String?
        repeat {
            var query = [("list-type", "2"), ("max-keys", "1000"), ("prefix", configuration.prefix + prefix)]
            if let token { query.append(("continuation-token", token)) }
            let answer = try await client.send(.get, nil, query: query, what: "list \(prefix)")
            if answer.status == .notFound { _ = try answer.missing(configuration) as Int? }
            let document = try S3Document(answer.body)
            guard document.name == "ListBucketResult" else {
                throw NacreError("bucket.answer", "\(name) does not answer with a list.")
            }
            for item in document.children where item.name == "Contents" {
                guard let key = item["Key"], key.hasPrefix(configuration.prefix) else { continue }
                keys.append(String(key.dropFirst(configuration.prefix.count)))
            }
            let next = document["IsTruncated"] == "true" ? document["NextContinuationToken"] : nil
            guard next == nil || next != token else {
                throw NacreError("bucket.answer", "\(name) gives the same part of a list again and again.")
            }
            token = next
        } while token != nil
        return keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    package func remove(_ key: String) async throws {
        _ = try await client.send("DELETE", key, what: "remove \(key)")
    }

    /// Asks the store by trying: two puts of one small file that must not both succeed, and one over a tag that nothing has.
    package func keepsConditions(_ channel: String) async throws -> Bool {
        if let known = keeps.withLock({ $0 }) { return known }
        let key = "channels/\(channel)/conditions.json"
        let content = BucketContent.bytes(Array("{}\n".utf8))
        var found = false
        for _ in 0..<2 where !found {
            found = try await isRefused(key, content, ["If-None-Match": "*"])
        }
        if found { found = try await isRefused(key, content, ["If-Match": "\"00000000000000000000000000000000\""]) }
        keeps.withLock { $0 = found }
        return found
    }

    private func isRefused(_ key: String, _ content: BucketContent, _ fields: HTTPFields) async throws -> Bool {
        do {
            return try await client.send(.put, key, what: "put \(key)", content: content, fields: fields).status == 412
        } catch let error as NacreError where error.code == "bucket.answer" {
            // A store that does not know the condition may say so.
            return false
        }
    }

    package func prepare() async throws -> [String] { try await S3Preparation(client: client).run() }
}
