// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreHTTP

/// Where what was published is read from, as a device does: the public address, or, where nothing serves it yet, the bucket.
package protocol ReleaseSource: Sendable {
    /// For messages.
    var name: String { get }

    /// What to do where something is missing, behind a space; or nothing.
    var remedy: String { get }

    /// - Throws: `release.missing`, `bucket.*`, `transport.*`.
    func bytes(_ key: String, upTo limit: Int) async throws -> [UInt8]

    /// What the app's own code sends its requests with.
    ///
    /// - Parameters:
    ///   - root: the public address.
    ///   - work: for what is read on the way.
    func transport(under root: String, _ threads: WorkThreads, _ work: WorkFolder) throws(NacreError)
        -> any HTTPTransport

    /// Tries again what the network breaks.
    func patiently<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value
}

/// Reads from the bucket itself.
package struct BucketSource: ReleaseSource {
    private let bucket: any ReleaseBucket
    package var name: String { bucket.name }
    package var remedy: String { "" }

    package init(_ bucket: any ReleaseBucket) { self.bucket = bucket }

    package func bytes(_ key: String, upTo limit: Int) async throws -> [UInt8] {
        guard let item = try await bucket.get(key, upTo: limit) else { throw missing(key) }
        return item.bytes
    }

    package func transport(
        under root: String, _ threads: WorkThreads, _ work: WorkFolder
    ) throws(NacreError) -> any HTTPTransport {
        BucketTransport(bucket: bucket, base: try WebURL(root + "/").path, threads: threads, work: work)
    }

    /// A bucket has its own patience.
    package func patiently<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value { try await body() }

    private func missing(_ key: String) -> NacreError {
        NacreError("release.missing", "\(key) is missing in \(name).")
    }
}

/// Reads through the public address, without any credentials.
package struct PublicSource: ReleaseSource {
    private let base: String
    private let sender: PatientSender
    package var name: String { base }
    package let remedy = " Check MOBILE_OTA_PUBLIC_BASE_URL, and the bucket's rights with: nacre ota bucket"

    /// - Throws: `url.malformed`.
    package init(
        base: String, transport: any HTTPTransport, time: any TimeSource, random: any RandomSource
    ) throws(NacreError) {
        var base = base
        while base.hasSuffix("/") { base.removeLast() }
        _ = try WebURL(base + "/")
        self.base = base
        sender = PatientSender(transport: transport, time: time, random: random)
    }

    /// Where a key is read.
    package func url(_ key: String) -> String { base + "/" + PublicAddress.path(key) }

    package func bytes(_ key: String, upTo limit: Int) async throws -> [UInt8] {
        let url = try WebURL(url(key))
        return try await sender.patiently { transport in
            let response = try await transport.send(HTTPRequest(.get, url))
            try check(response.status, url)
            do { return try await response.body.collect(upTo: limit) } catch let error as NacreError
                where error.code == "http.body_too_large"
            { throw BucketFault.tooLarge(key, limit) }
        }
    }

    package func transport(
        under root: String, _ threads: WorkThreads, _ work: WorkFolder
    ) -> any HTTPTransport { sender.transport }

    package func patiently<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
        try await sender.patiently { _ in try await body() }
    }

    private func check(_ status: HTTPStatus, _ url: WebURL) throws(NacreError) {
        guard status != .ok else { return }
        if status.rawValue >= 500 || status == .tooManyRequests {
            throw NacreError("transport.busy", "\(url) answers \(status.rawValue).")
        }
        throw NacreError(
            "release.missing",
            "\(url) answers \(status.rawValue) to a reader without credentials.\(remedy)")
    }
}

/// Keys as they stand in addresses.
enum PublicAddress {
    /// A store takes a `+` in a path for a space, and a version may have one.
    static func path(_ key: String) -> String {
        key.split(separator: "/", omittingEmptySubsequences: false).map { PercentEncoding.encode($0) }.joined(
            separator: "/")
    }
}

/// Writes a body into a file.
func save(_ body: HTTPBody, to path: String, upTo limit: Int, _ key: String) async throws {
    let file = try OutputFile(path)
    let stream = body.stream
    while let chunk = try await stream.next() {
        guard file.count + chunk.count <= limit else { throw BucketFault.tooLarge(key, limit) }
        try file.write(chunk)
    }
    if let length = body.length, length != file.count {
        throw NacreError("transport.protocol", "\(key) came with \(file.count) bytes instead of \(length).")
    }
}

/// Tries what the network breaks a few times more, with pauses.
package struct PatientSender: Sendable {
    package let transport: any HTTPTransport
    private let time: any TimeSource
    private let random: any RandomSource
    private static let attempts = 4

    package init(transport: any HTTPTransport, time: any TimeSource, random: any RandomSource) {
        (self.transport, self.time, self.random) = (transport, time, random)
    }

    /// - Throws: what the last attempt threw.
    package func patiently<Value: Sendable>(
        _ attempt: (any HTTPTransport) async throws -> Value
    ) async throws -> Value {
        let backoff = Backoff(first: .milliseconds(500), ceiling: .seconds(8))
        var count = 0
        while true {
            do { return try await attempt(transport) } catch let error as NacreError {
                count += 1
                guard Self.passes(error), count < Self.attempts else { throw error }
            }
            try await time.sleep(for: backoff.delay(attempt: count, random: random))
        }
    }

    /// What another moment may mend.
    private static func passes(_ error: NacreError) -> Bool {
        [
            "transport.unreachable", "transport.timeout", "transport.protocol", "transport.busy", "update.unwell",
            "update.cut",
        ].contains(error.code.rawValue)
    }
}
