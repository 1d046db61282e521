// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import Synchronization

/// Fetches the images that messages show from elsewhere, so that the sender learns neither the reader's address nor
/// anything about their program, and so that no message can make us ask a machine in our own network.
final class RemoteImages: Sendable {
    /// The largest image, in bytes.
    static let maximumSize = 5 * 1024 * 1024
    static let maximumRedirects = 3
    /// How long one image may take, redirects and all.
    static let patience: Duration = .seconds(20)
    static let atOnce = 32

    private let access: RemoteAccess
    private let time: any TimeSource
    private let running = Mutex(0)

    init(access: RemoteAccess, time: any TimeSource) {
        self.access = access
        self.time = time
    }

    /// The image at an address that a message names.
    ///
    /// - Throws: `APIFailure` that says why there is none.
    func image(at text: String) async throws -> HTTPResponse {
        let isFree = running.withLock { running in
            guard running < Self.atOnce else { return false }  // guard: remote-count
            running += 1
            return true
        }
        guard isFree else {
            throw APIFailure(
                status: .serviceUnavailable, code: "remote_busy",
                message: "Too many images are being fetched; try again.")
        }
        defer { running.withLock { $0 -= 1 } }
        let (kind, bytes) = try await inTime { try await self.fetch(text) }
        return HTTPResponse(
            fields: [
                "Content-Type": kind, "X-Content-Type-Options": "nosniff", "Content-Security-Policy": BlobAnswer.policy,
                "Content-Disposition": "inline; filename=\"image\"", "Cache-Control": "no-store",
            ],
            body: .bytes(bytes))
    }

    private func inTime<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask { try await work() }
            group.addTask { [time] in
                // A clock that does not let us wait sets no limit.
                do { try await time.sleep(for: Self.patience) } catch { return nil }
                throw APIFailure.remote("took too long")  // guard: remote-patience
            }
            defer { group.cancelAll() }
            while let value = try await group.next() {
                if let value { return value }
            }
            throw APIFailure.remote("did not answer")
        }
    }

    private func fetch(_ text: String) async throws -> (kind: String, bytes: [UInt8]) {
        var target = text
        for _ in 0...Self.maximumRedirects {
            let url = try Self.check(target)
            let response = try await send(url)
            if (300..<400).contains(response.status.rawValue), let location = response.fields["Location"] {
                target = Self.resolve(location, against: url)
                continue
            }
            return try await Self.picture(response)
        }
        throw APIFailure.remote("redirects too often")  // guard: remote-redirects
    }

    /// Only https to its own port: anything else is no place for an image of a message.
    private static func check(_ text: String) throws -> WebURL {
        guard text.utf8.count <= 4000, let url = try? WebURL(text) else {
            throw APIFailure.badRequest("bad_url", "\"url\" must be the https address of an image.")
        }
        guard url.origin.scheme == "https", url.origin.port == 443 else {  // guard: remote-scheme
            throw APIFailure.refused
        }
        return url
    }

    private func send(_ url: WebURL) async throws -> HTTPResponse {
        let host = url.origin.host.hasPrefix("[") ? String(url.origin.host.dropFirst().dropLast()) : url.origin.host
        let addresses: [String]
        do {
            addresses = try await access.addresses(host)
        } catch {
            throw APIFailure.remote("has a name that is not known")
        }
        // One address of ours among several is a trick already.
        guard let first = addresses.first, addresses.allSatisfy(PublicAddress.contains) else {
            throw APIFailure.refused
        }
        do {
            return try await access.send(
                HTTPRequest(
                    .get, url,
                    fields: ["Accept": "image/avif,image/webp,image/png,image/*", "User-Agent": "Mozilla/5.0"]),
                first)
        } catch let error as NacreError {
            throw APIFailure.remote(error.code == "transport.timeout" ? "took too long" : "cannot be reached")
        }
    }

    private static func resolve(_ location: String, against url: WebURL) -> String {
        if location.hasPrefix("//") { return "\(url.origin.scheme):\(location)" }
        if location.hasPrefix("/") { return "\(url.origin)\(location)" }
        if location.contains("://") { return location }
        let folder = url.path.lastIndex(of: "/").map { url.path[...$0] } ?? "/"
        return "\(url.origin)\(folder)\(location)"
    }

    private static func picture(_ response: HTTPResponse) async throws -> (kind: String, bytes: [UInt8]) {
        guard response.status == .ok else { throw APIFailure.remote("answered \(response.status.rawValue)") }
        let said = (response.fields["Content-Type"] ?? "").lowercased().prefix { $0 != ";" && $0 != " " }
        guard BlobAnswer.pictures.contains(String(said)) else {  // guard: remote-type
            throw APIFailure.remote("is no image of a kind that is shown")
        }
        let bytes: [UInt8]
        do {
            bytes = try await response.body.collect(upTo: maximumSize)  // guard: remote-size
        } catch let error as NacreError where error.code == "http.body_too_large" {
            throw APIFailure.remote("is larger than \(maximumSize / 1024 / 1024) MB")
        } catch is NacreError {
            throw APIFailure.remote("broke off")
        }
        guard let kind = ImageKind.of(bytes) else {  // guard: remote-bytes
            throw APIFailure.remote("is no image")
        }
        return (kind, bytes)
    }
}

extension APIFailure {
    static let refused = APIFailure(
        status: .forbidden, code: "remote_refused",
        message: "This image is not fetched: its address is not one of a public https server.")

    static func remote(_ reason: String) -> APIFailure {
        APIFailure(status: 422, code: "remote_failed", message: "The image \(reason).")
    }
}
