// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreHTTP
import NacreReleases

/// Fetches what lies in a bucket. Nothing is sent but the request: no session, no name of the device.
package struct ReleaseFetch: Sendable {
    private let transport: any HTTPTransport
    private let time: any TimeSource
    private let isDevelopment: Bool
    private static let redirects = 3
    /// A store that is slower than this is none.
    private static let slowest = 4096
    private static let patience: Duration = .seconds(30)

    /// - Parameter isDevelopment: whether http is allowed.
    package init(transport: any HTTPTransport, time: any TimeSource, isDevelopment: Bool) {
        (self.transport, self.time, self.isDevelopment) = (transport, time, isDevelopment)
    }

    /// A small document, whole.
    enum Answer: Sendable {
        case unchanged
        case missing
        case bytes([UInt8], tag: String?)
    }

    /// - Parameters:
    ///   - limit: bytes; more are not read.
    ///   - tag: the validator of what is here already.
    /// - Throws: `update.*`, `transport.*`.
    func document(_ url: WebURL, upTo limit: Int, tag: String? = nil) async throws(NacreError) -> Answer {
        try await limited(limit) { () async throws -> Answer in
            var fields: HTTPFields = ["Accept-Encoding": "identity", "Cache-Control": "no-cache"]
            if let tag, !tag.isEmpty { fields["If-None-Match"] = tag }
            let response = try await send(url, fields)
            switch response.status.rawValue {
            case 200:
                // One byte more tells a document that is too long from one that just fits.
                return .bytes(try await response.body.collect(upTo: limit + 1), tag: response.fields["ETag"])
            case 304: return .unchanged
            case 403, 404, 410: return .missing
            default: throw Self.unwell(url, response.status)
            }
        }
    }

    /// Bytes that lie in the store for good, into a file that may hold their beginning already.
    ///
    /// - Parameters:
    ///   - size: bytes, as signed; nil where nobody has signed it, and then at most `limit`.
    ///   - progress: told of bytes as they come.
    /// - Throws: `update.*`, `transport.*`, `file.*`; what has come stays for the next try.
    func object(
        _ url: WebURL, into path: String, size: Int?, upTo limit: Int, digest: TreeDigest?, disk: any UpdateDisk,
        work: WorkThreads, progress: @escaping @Sendable (Int) -> Void
    ) async throws(NacreError) {
        var failures = 0
        while true {
            do throws(NacreError) {
                let resumed = try await part(url, path, size, limit, disk, work, canResume: digest != nil, progress)
                guard let digest else { return }
                if try await Self.digest(of: path, work) == digest { return }  // guard: update-object-digest
                try await Self.run(work) { () throws(NacreError) in try disk.remove(path) }
                guard resumed else {
                    throw NacreError("update.damaged", "What the update server holds is not what was signed.")
                }
                // What was here before belonged to something else; from the beginning once more.
            } catch {
                failures += 1
                guard failures < 3, error.code.rawValue.hasPrefix("transport.") || error.code == "update.cut",
                    !Task.isCancelled
                else { throw error }
                do { try await time.sleep(for: .seconds(failures)) } catch { throw Self.cancelled }
            }
        }
    }

    /// One request; whether it went on where another had stopped.
    private func part(
        _ url: WebURL, _ path: String, _ size: Int?, _ limit: Int, _ disk: any UpdateDisk, _ work: WorkThreads,
        canResume: Bool, _ progress: @escaping @Sendable (Int) -> Void
    ) async throws(NacreError) -> Bool {
        var have = canResume ? disk.size(of: path) ?? 0 : 0
        if let size, have == size { return true }
        if let size, have > size { have = 0 }
        let start = have
        return try await limited(size ?? limit) { () async throws -> Bool in
            var fields: HTTPFields = ["Accept-Encoding": "identity"]
            if start > 0 { fields["Range"] = "bytes=\(start)-" }
            let response = try await send(url, fields)
            let goesOn: Bool
            switch response.status.rawValue {
            case 200: goesOn = false
            case 206 where start > 0:
                // guard: update-range
                guard Self.continues(response.fields["Content-Range"], at: start, size: size) else {
                    try await Self.run(work) { () throws(NacreError) in try disk.remove(path) }
                    throw NacreError("update.cut", "The update server answered for another part of the file.")
                }
                goesOn = true
            case 416:
                try await Self.run(work) { () throws(NacreError) in try disk.remove(path) }
                throw NacreError("update.cut", "The update server has fewer bytes than it should.")
            case 403, 404, 410:
                throw NacreError("update.missing", "The update server does not have a file of the release.")
            default: throw Self.unwell(url, response.status)
            }
            try await save(
                response.body.stream, to: path, from: goesOn ? start : 0, size: size, limit: limit, disk, work, progress
            )
            return goesOn
        }
    }

    private func save(
        _ body: ByteStream, to path: String, from start: Int, size: Int?, limit: Int, _ disk: any UpdateDisk,
        _ work: WorkThreads, _ progress: @escaping @Sendable (Int) -> Void
    ) async throws {
        let most = size ?? limit
        var total = start
        if start == 0 { try await Self.run(work) { () throws(NacreError) in try disk.create(path).close() } }
        while let chunk = try await body.next() {
            total += chunk.count
            guard total <= most else {  // guard: update-object-size
                try await Self.run(work) { () throws(NacreError) in try disk.remove(path) }
                throw NacreError("update.too_long", "The update server sends more than was signed.")
            }
            try await Self.run(work) { () throws(NacreError) in
                let file = try disk.extend(path)
                defer { file.close() }
                try file.write(chunk)
            }
            progress(chunk.count)
        }
        guard size == nil || total == size else {
            throw NacreError("update.cut", "The update server's answer ended early.")
        }
    }

    /// `bytes 100-199/200`: from where it was asked, to the end.
    static func continues(_ field: String?, at start: Int, size: Int?) -> Bool {
        guard let field, field.hasPrefix("bytes ") else { return false }
        let parts = field.dropFirst(6).split(separator: "/")
        guard parts.count == 2 else { return false }
        let ends = parts[0].split(separator: "-")
        guard ends.count == 2, Int(ends[0]) == start, let last = Int(ends[1]), last >= start else { return false }
        guard let size else { return true }
        return last == size - 1 && Int(parts[1]) == size
    }

    /// Sends the request, and follows what leads elsewhere a few times.
    private func send(_ first: WebURL, _ fields: HTTPFields) async throws -> HTTPResponse {
        var url = first
        for _ in 0...Self.redirects {
            // guard: update-redirect-https
            guard isDevelopment || url.origin.scheme == "https" else {
                throw NacreError("update.cleartext", "The update server leads to an address without TLS.")
            }
            let response = try await transport.send(HTTPRequest(.get, url, fields: fields))
            guard [301, 302, 303, 307, 308].contains(response.status.rawValue) else { return response }
            guard let next = response.fields["Location"].flatMap(url.resolving) else {
                throw Self.unwell(url, response.status)
            }
            url = next
        }
        throw NacreError("update.redirects", "The update server sends this app round in circles.")
    }

    private func limited<Value: Sendable>(
        _ bytes: Int, _ body: @escaping @Sendable () async throws -> Value
    ) async throws(NacreError) -> Value {
        let limit = Self.patience + .seconds(bytes / Self.slowest)
        do {
            return try await withTimeLimit(
                limit, time: time,
                timeout: { NacreError("transport.timeout", "The update server is too slow.") }, operation: body)
        } catch let error as NacreError {
            throw error
        } catch is CancellationError {
            throw Self.cancelled
        } catch {
            throw NacreError("transport.failed", "The update server could not be reached.", cause: error)
        }
    }

    static let cancelled = NacreError("update.cancelled", "The download was cancelled.")

    private static func unwell(_ url: WebURL, _ status: HTTPStatus) -> NacreError {
        NacreError("update.unwell", "The update server \(url.origin.authority) answered \(status.rawValue).")
    }

    private static func digest(of path: String, _ work: WorkThreads) async throws(NacreError) -> TreeDigest {
        try await run(work) { () throws(NacreError) in try TreeDigest(of: try FileBytes(path)) }
    }

    /// Blocking work, off the cooperative pool.
    static func run<Value: Sendable>(
        _ work: WorkThreads, _ body: @escaping @Sendable () throws(NacreError) -> Value
    ) async throws(NacreError) -> Value {
        do { return try await work.run { try body() } } catch let error as NacreError { throw error } catch {
            throw NacreError("update.failed", "The update failed.", cause: error)
        }
    }
}
