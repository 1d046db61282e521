// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
package import NacreHTTP
import NacreReleases
import Synchronization

/// A bucket in memory that answers as a store does, and, where a test wants it, as a bad one.
package final class TestBucket: HTTPTransport {
    /// What is wrong with one answer.
    package enum Fault: Sendable, Equatable {
        case status(Int)
        /// The connection breaks after so many bytes.
        case cut(Int)
        /// One bit is another.
        case flipped(Int)
        /// More bytes than there are.
        case longer(Int)
        /// Ends early, and says that this was all.
        case short(Int)
        /// A part that was not asked for.
        case otherPart
        /// The whole, though a part was asked for.
        case whole
        case redirect(String)
        case unreachable
    }

    private struct State {
        var objects: [String: [UInt8]] = [:]
        var faults: [String: [Fault]] = [:]
        var requests: [String] = []
        var bytes = 0
    }
    package static let address = "https://bucket.example.org/"
    private let state = Mutex(State())

    package init() {}

    package subscript(key: String) -> [UInt8]? {
        get { state.withLock { $0.objects[key] } }
        set { state.withLock { $0.objects[key] = newValue } }
    }

    /// The next answers for this key, in order; after them all is well.
    package func fail(_ key: String, _ faults: Fault...) { state.withLock { $0.faults[key, default: []] += faults } }
    package func heal() { state.withLock { $0.faults = [:] } }

    /// Keys that were asked for, oldest first, with the range where one was asked for.
    package var requests: [String] { state.withLock { $0.requests } }
    /// Bytes that were sent.
    package var sent: Int { state.withLock { $0.bytes } }
    package func forget() { state.withLock { ($0.requests, $0.bytes) = ([], 0) } }

    package var keys: [String] { state.withLock { $0.objects.keys.sorted() } }

    package func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let key = String(request.path.dropFirst())
        let range = request.fields["Range"]
        let (content, fault) = state.withLock { state in
            state.requests.append(range.map { "\(key) \($0)" } ?? key)
            var faults = state.faults[key] ?? []
            let fault = faults.isEmpty ? nil : faults.removeFirst()
            state.faults[key] = faults
            return (state.objects[key], fault)
        }
        switch fault {
        case .unreachable: throw NacreError("transport.unreachable", "Nothing answers.")
        case .status(let code):
            return HTTPResponse(
                status: HTTPStatus(rawValue: code), fields: ["Content-Type": "application/xml"],
                body: .text("<Error><Code>AccessDenied</Code></Error>"))
        case .redirect(let target): return HTTPResponse(status: .found, fields: ["Location": target])
        default: break
        }
        guard var bytes = content else { return HTTPResponse(status: .notFound, body: .text("<Error/>")) }
        let tag = "\"\(TreeDigest(of: bytes).description.prefix(16))\""
        if request.fields["If-None-Match"] == tag { return HTTPResponse(status: .notModified, fields: ["ETag": tag]) }
        var fields: HTTPFields = ["ETag": tag]
        var status = HTTPStatus.ok
        if let range, fault != .whole, let start = Int(range.dropFirst(6).dropLast()) {
            guard start < bytes.count else { return HTTPResponse(status: 416) }
            fields["Content-Range"] = "bytes \(start)-\(bytes.count - 1)/\(bytes.count)"
            if fault == .otherPart { fields["Content-Range"] = "bytes 0-\(bytes.count - 1)/\(bytes.count)" }
            bytes = Array(bytes[start...])
            status = 206
        }
        var breaks = false
        switch fault {
        case .cut(let count):
            bytes = Array(bytes.prefix(count))
            breaks = true
        case .short(let count): bytes = Array(bytes.prefix(count))
        case .flipped(let place) where !bytes.isEmpty: bytes[place % bytes.count] ^= 1
        case .longer(let count): bytes += [UInt8](repeating: 0x20, count: count)
        default: break
        }
        return HTTPResponse(status: status, fields: fields, body: .stream(stream(bytes, breaks: breaks), length: nil))
    }

    private func stream(_ bytes: [UInt8], breaks: Bool) -> ByteStream {
        let rest = Mutex(bytes)
        return ByteStream { [self] in
            let piece = rest.withLock { rest -> [UInt8] in
                let piece = Array(rest.prefix(16_384))
                rest.removeFirst(piece.count)
                return piece
            }
            state.withLock { $0.bytes += piece.count }
            if piece.isEmpty, breaks { throw NacreError("transport.unreachable", "The connection broke.") }
            return piece.isEmpty ? nil : piece
        }
    }
}
