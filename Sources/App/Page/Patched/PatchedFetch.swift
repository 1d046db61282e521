// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreHTTP

/// The other implementation of the page channel (design section 4): where a web view cannot be pointed at an endpoint of
/// ours, a script in the page sends its requests here, over the bridge and in pieces.
///
/// Who may speak is the bridge's matter (`BridgeGate`); what is answered, with which session, is the page channel's own
/// code. A request, its pieces and its answer belong to one page load. The body of an answer waits at the page's own host
/// under a name that cannot be guessed, and is fetched there once, so that the web engine streams it.
package actor PatchedFetch {
    /// How much of everything is allowed at once.
    package struct Limits: Sendable {
        /// Requests whose answer has not been fetched to its end.
        package var requests = 512
        /// Requests whose body is still coming.
        package var uploads = 64
        /// Bytes of one request's body that wait for the network.
        package var window = 512 * 1024
        /// How long an answer waits to be fetched.
        package var unclaimed: Duration = .seconds(60)

        /// The usual limits.
        package init() {}
    }

    private final class Exchange {
        let request: PatchedRequest
        let upload: BytePipe?
        var sending: Task<HTTPResponse, any Error>?
        var socket: PatchedSocket?
        var sent = 0
        var isWriting = false
        var isUploaded: Bool
        var isAnswered = false
        var body: (token: String, stream: ByteStream, length: Int?, since: Instant)?
        var running: Weak<PatchedBody>?

        init(_ request: PatchedRequest, window: Int) {
            self.request = request
            if case .pieces = request.body {
                upload = BytePipe(capacity: window)
            } else {
                upload = nil
            }
            isUploaded = upload == nil
        }

        /// Takes no more of the body: the answer is there, and at its end.
        func stopUpload() {
            guard !isUploaded else { return }
            isUploaded = true
            upload?.cancel()
        }

        func cancel() {
            sending?.cancel()
            upload?.finish(throwing: CancellationError())
            socket?.cancel()
            running?.value?.close()
            body = nil
        }
    }

    package typealias Send = @Sendable (_ request: HTTPRequest, _ session: Bool) async throws -> HTTPResponse

    private let isAPI: @Sendable (Origin) -> Bool
    private let send: Send
    private let limits: Limits
    private let time: any TimeSource
    private let random: any RandomSource
    private let log: Log
    private var load: UInt64 = 0
    private var exchanges: [String: Exchange] = [:]
    /// What is kept alive of pages that have been left; it counts, and ends with the session.
    private var kept: [Exchange] = []

    /// - Parameters:
    ///   - isAPI: whether an origin is the API's, the only one that requests may go to.
    ///   - send: the API's answer, or what stands for it where there is none.
    package init(
        isAPI: @escaping @Sendable (Origin) -> Bool, limits: Limits = Limits(), time: any TimeSource = SystemTime(),
        random: any RandomSource = SystemRandom(), log: Log, send: @escaping Send
    ) {
        self.isAPI = isAPI
        self.limits = limits
        self.time = time
        self.random = random
        self.log = log
        self.send = send
    }

    /// How many requests are under way.
    package var count: Int { exchanges.count }
    /// Whether a piece of this request's body waits for room.
    func isWriting(_ id: String) -> Bool { exchanges[id]?.isWriting ?? false }

    // MARK: Requests

    /// Sends a request and waits for the head of its answer. Cancelling ends it, unless it is kept alive.
    ///
    /// - Throws: `page.request`, `page.origin`, `page.busy`, `page.left`, `CancellationError`.
    package func open(_ request: PatchedRequest, load: UInt64) async throws -> PatchedHead {
        let exchange = try begin(request, load: load)
        var message = HTTPRequest(request.method, request.url, fields: request.fields)
        switch request.body {
        case .none: break
        case .whole(let bytes): message.body = .bytes(bytes)
        case .pieces(let length):
            if let upload = exchange.upload { message.body = .stream(upload.stream, length: length) }
        }
        let sent = message
        let sending = Task { [send] in try await send(sent, request.hasSession) }
        exchange.sending = sending
        let response: HTTPResponse
        do {
            response = try await withTaskCancellationHandler {
                try await sending.value
            } onCancel: {
                if !request.isKeptAlive { sending.cancel() }
            }
        } catch {
            remove(exchange)
            throw error
        }
        guard exchanges[request.id] === exchange else {
            remove(exchange)
            throw CancellationError()
        }
        exchange.isAnswered = true
        let isEmpty = request.method == .head || [204, 205, 304].contains(response.status.rawValue)
        if isEmpty || response.body.length == 0 {
            exchange.stopUpload()
            settle(exchange)
            return PatchedHead(status: response.status, fields: response.fields, token: nil)
        }
        let token = random.token()
        exchange.body = (token, response.body.stream, response.body.length, time.now)
        return PatchedHead(status: response.status, fields: response.fields, token: token)
    }

    private func begin(_ request: PatchedRequest, load: UInt64) throws -> Exchange {
        try enter(load)
        guard isAPI(request.url.origin) else {  // guard: patched-api-only
            throw NacreError(
                "page.origin", "\(request.url.origin) is not the API's origin; ask it by the browser's fetch.")
        }
        dropUnclaimed()
        guard exchanges[request.id] == nil else {
            throw NacreError("page.request", "Two requests of the page have one id.")
        }
        let uploads = exchanges.values.count { !$0.isUploaded }
        guard exchanges.count + kept.count < limits.requests, uploads < limits.uploads else {  // guard: patched-limit
            log.warning("page.busy", ["requests": JSONValue(exchanges.count), "uploads": JSONValue(uploads)])
            throw NacreError("page.busy", "The page has too many requests open at once; let some end first.")
        }
        let exchange = Exchange(request, window: limits.window)
        exchanges[request.id] = exchange
        return exchange
    }

    /// Another load than the present one: a later one ends what an earlier one has begun, an earlier one is over.
    private func enter(_ load: UInt64) throws {
        if load > self.load {
            self.load = load
            // What is kept alive goes on by itself.
            for exchange in exchanges.values {
                if exchange.request.isKeptAlive, !exchange.isAnswered {
                    kept.append(exchange)
                } else {
                    exchange.cancel()
                }
            }
            exchanges = [:]
        }
        guard load == self.load else {  // guard: patched-stale-load
            throw NacreError("page.left", "The page of this request has been left.")
        }
    }

    private func find(_ id: String, _ load: UInt64) throws -> Exchange {
        try enter(load)
        guard let exchange = exchanges[id] else {
            throw NacreError("page.request", "There is no such request; it may have ended.")
        }
        return exchange
    }

    private func dropUnclaimed() {
        for exchange in exchanges.values {
            guard let body = exchange.body else { continue }
            guard body.since + limits.unclaimed < time.now else { continue }  // guard: patched-unclaimed
            exchange.cancel()
            remove(exchange)
        }
    }

    private func remove(_ exchange: Exchange) {
        if exchanges[exchange.request.id] === exchange { exchanges[exchange.request.id] = nil }
        kept.removeAll { $0 === exchange }
    }

    /// Forgets a request of which nothing more can come.
    private func settle(_ exchange: Exchange) {
        if exchange.isAnswered, exchange.isUploaded, exchange.body == nil, exchange.running?.value == nil {
            remove(exchange)
        }
    }

    // MARK: Sockets

    /// Opens a WebSocket; its messages are an answer's body like any other.
    ///
    /// - Throws: as `open`, and `transport.protocol` when the server does not take the handshake.
    package func openSocket(
        _ request: PatchedRequest, protocols: [String], load: UInt64
    ) async throws -> PatchedSocketHead {
        let exchange = try begin(request, load: load)
        let opening = Task { [send, random] in
            try await PatchedSocket.open(request.url, protocols: protocols, random: random) { try await send($0, true) }
        }
        let socket: PatchedSocket
        do {
            socket = try await withTaskCancellationHandler {
                try await opening.value
            } onCancel: {
                opening.cancel()
            }
        } catch {
            remove(exchange)
            throw error
        }
        guard exchanges[request.id] === exchange else {
            socket.cancel()
            throw CancellationError()
        }
        exchange.isAnswered = true
        exchange.socket = socket
        let token = random.token()
        exchange.body = (token, socket.stream, nil, time.now)
        return PatchedSocketHead(chosen: socket.chosen, token: token)
    }

    /// Sends one message, or the closing one.
    ///
    /// - Throws: `page.request`, what the connection throws.
    package func send(_ message: PatchedSocket.Message, on id: String, load: UInt64) async throws {
        guard let socket = try find(id, load).socket else {
            throw NacreError("page.request", "This request is no WebSocket.")
        }
        try await socket.send(message)
    }

    // MARK: Bodies of requests

    /// Takes the next piece; answers when there is room for another.
    ///
    /// - Throws: `page.request`, `http.reader_gone` when the server wants no more.
    package func write(_ id: String, _ bytes: [UInt8], load: UInt64) async throws {
        let exchange = try find(id, load)
        guard let upload = exchange.upload, !exchange.isUploaded, bytes.count <= PatchedRequest.largestPiece else {
            throw NacreError("page.request", "The piece of a body is too large, or has no place.")
        }
        // Whoever does not wait would fill memory at the page's pace instead of the network's.
        guard !exchange.isWriting else {  // guard: patched-one-piece
            throw NacreError("page.request", "A piece of a body must wait for the one before.")
        }
        exchange.sent += bytes.count
        if case .pieces(let length?) = exchange.request.body {
            guard exchange.sent <= length else {  // guard: patched-length
                exchange.cancel()
                remove(exchange)
                throw NacreError("page.request", "A body is longer than it was said to be.")
            }
        }
        exchange.isWriting = true
        defer { exchange.isWriting = false }
        try await upload.write(bytes)
    }

    /// The body is whole.
    package func finish(_ id: String, load: UInt64) throws {
        let exchange = try find(id, load)
        if case .pieces(let length?) = exchange.request.body, !exchange.isUploaded {
            guard exchange.sent == length else {  // guard: patched-whole
                exchange.cancel()
                remove(exchange)
                throw NacreError("page.request", "A body is shorter than it was said to be.")
            }
        }
        exchange.isUploaded = true
        exchange.upload?.finish()
        settle(exchange)
    }

    /// Ends a request; nothing happens where it has ended.
    package func cancel(_ id: String, load: UInt64) {
        guard let exchange = try? find(id, load) else { return }
        exchange.cancel()
        remove(exchange)
    }

    /// Ends everything, at sign-out (NB-13).
    package func cancelAll() {
        for exchange in kept + exchanges.values { exchange.cancel() }
        (exchanges, kept) = ([:], [])
    }

    // MARK: Bodies of answers

    /// The body that waits under this name, once.
    package func claim(_ token: String) -> HTTPBody? {
        let named = exchanges.values.first { exchange in
            exchange.body.map { constantTimeEqual($0.token.utf8, token.utf8) } ?? false
        }
        guard let exchange = named, let waiting = exchange.body else { return nil }
        exchange.body = nil  // guard: patched-once
        let id = exchange.request.id
        let body = PatchedBody(waiting.stream) { [weak self] in Task { await self?.ended(id) } }
        exchange.running = Weak(body)
        return .stream(body.stream, length: waiting.length)
    }

    private func ended(_ id: String) {
        guard let exchange = exchanges[id], exchange.running?.value == nil else { return }
        exchange.stopUpload()
        settle(exchange)
    }
}
