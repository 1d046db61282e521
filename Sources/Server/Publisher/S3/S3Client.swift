// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreHTTP
import NacreReleases

/// Sends signed requests, each attempt signed anew, and reads their answers.
struct S3Client: Sendable {
    let configuration: S3Configuration
    let sender: PatientSender
    let time: any TimeSource
    let threads: WorkThreads

    struct Answer: Sendable {
        let status: HTTPStatus
        let fields: HTTPFields
        let body: [UInt8]
        let length: Int?
        /// How often the request was sent.
        let attempts: Int

        /// Nil for a key that is not there; a bucket that is not there is an error.
        func missing<Value>(_ configuration: S3Configuration) throws(NacreError) -> Value? {
            if (try? S3Document(body))?["Code"] == "NoSuchBucket" {
                throw S3Fault.error(
                    status, body, configuration, what: "", date: nil, now: Instant(milliseconds: 0))
            }
            return nil
        }
    }

    /// A request for a key, or for the bucket itself. Answers 2xx, 404 and 412; everything else is an error.
    ///
    /// - Parameter path: where a body goes that does not fit into memory.
    func send(
        _ method: HTTPMethod, _ key: String?, query: [(String, String)] = [], what: String,
        content: BucketContent? = nil, fields: HTTPFields = [:], limit: Int = S3Document.maximumBytes,
        into path: String? = nil, isSigned: Bool = true
    ) async throws -> Answer {
        let attempts = Attempts()
        let size = content?.size ?? 0
        return try await sender.patiently { transport in
            let number = attempts.next()
            // A peer that stops reading or sending must not hold a pipeline for ever: 50 kB a second at least.
            let allowance = Duration.seconds(60 + max(size, path == nil ? 0 : limit) / 50_000)
            return try await withTimeLimit(allowance, time: time) {
                NacreError("transport.timeout", "\(configuration.endpoint) does not get on with it.")
            } operation: {
                let request = try await request(method, key, query, content, fields, isSigned)
                let response = try await transport.send(request)
                let isGood = response.status.isSuccess || response.status == 404 || response.status == 412
                if isGood, response.status.isSuccess, let path {
                    try await save(response.body, to: path, upTo: limit, key ?? "")
                    return Answer(
                        status: response.status, fields: response.fields, body: [], length: nil, attempts: number)
                }
                let length = response.fields["Content-Length"].flatMap { Int($0) } ?? response.body.length
                let body = try await collect(response, isGood ? limit : S3Document.maximumBytes, key)
                guard isGood else {
                    throw S3Fault.error(
                        response.status, body, configuration, what: what, date: response.fields["Date"], now: time.now)
                }
                return Answer(
                    status: response.status, fields: response.fields, body: body, length: length, attempts: number)
            }
        }
    }

    private func collect(_ response: HTTPResponse, _ limit: Int, _ key: String?) async throws -> [UInt8] {
        do {
            return try await response.body.collect(upTo: response.status.isSuccess ? limit : S3Document.maximumBytes)
        } catch let error as NacreError where error.code == "http.body_too_large" {
            throw BucketFault.tooLarge(key ?? configuration.bucket, limit)
        }
    }

    private func request(
        _ method: HTTPMethod, _ key: String?, _ query: [(String, String)], _ content: BucketContent?,
        _ fields: HTTPFields, _ isSigned: Bool
    ) async throws -> HTTPRequest {
        var request = HTTPRequest(
            method: method, scheme: configuration.endpoint.scheme, authority: configuration.endpoint.authority,
            target: "/", fields: fields)
        var payload = Hex.encode(SHA256.hash([UInt8]()))
        switch content {
        case nil: break
        case .bytes(let bytes):
            request.body = .bytes(bytes)
            payload = Hex.encode(SHA256.hash(bytes))
        case .file(let path, let size, let sha256):
            request.body = .stream(try await stream(path, size), length: size)
            payload = Hex.encode(sha256)
        }
        if content != nil, let key {
            let served = ServedAs(key)
            (request.fields["Content-Type"], request.fields["Cache-Control"]) = (served.type, served.cacheControl)
        }
        let path = "/" + configuration.bucket + (key.map { "/" + configuration.prefix + $0 } ?? "")
        let signer = S3Signer(credentials: configuration.credentials, region: configuration.region)
        request = signer.sign(request, path: path, query: query, payload: payload, now: time.now)
        guard isSigned else {
            request.fields.removeAll { $0 == "authorization" || $0.hasPrefix("x-amz-") }
            return request
        }
        return request
    }

    /// A file in pieces, read off the pool.
    private func stream(_ path: String, _ size: Int) async throws -> ByteStream {
        let file = try await threads.run { try FileBytes(path) }
        guard file.count == size else {
            throw NacreError("file.read", "\(path) changed while it was published.")
        }
        let place = FilePlace()
        let threads = threads
        return ByteStream {
            let range = place.next(256 * 1024, of: size)
            guard !range.isEmpty else { return nil }
            return try await threads.run { try file.read(range) }
        }
    }
}
