// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreRouting
import Synchronization

/// One client's connection: requests one after the other, each answered before the next is read.
///
/// **When the client leaves.** A reset always cancels the handler's task. A half-close (the client ended its sending half)
/// counts as leaving too once the request body has been taken whole: browsers and the toolkit's own clients close fully, and
/// nothing else would end a silent event stream. A handler that answers all the same still has its answer sent, so a client
/// that really did half-close gets it from any handler that does not look at cancellation. While a body is still being read,
/// a half-close is only the body's end or an `http.body_incomplete`.
final class Connection: Sendable {
    private enum Phase {
        case idle, reading, handling(bodyPending: Bool), upgraded
    }

    private struct State {
        var phase = Phase.idle
        var task: Task<Void, Never>?
        var cancelled = false
        var draining = false
    }

    let socket: LoopSocket
    private let isTLS: Bool
    private let attributes: ConnectionAttributes?
    private let service: Service
    /// Numeric; made once, since it costs a call of the resolver.
    private let clientAddress: String
    private let state = Mutex(State())

    init(socket: LoopSocket, isTLS: Bool, attributes: ConnectionAttributes?, service: Service) {
        self.socket = socket
        self.isTLS = isTLS
        self.attributes = attributes
        self.service = service
        clientAddress = socket.peer?.host ?? ""
    }

    // MARK: From outside

    /// Keeps the task that runs this connection.
    func attach(_ task: Task<Void, Never>) {
        let late = state.withLock { state in
            state.task = task
            return state.cancelled
        }
        if late { task.cancel() }
    }

    /// Closes it now when it is idle, after the current response otherwise.
    func drain() {
        let idle = state.withLock { state in
            state.draining = true
            if case .idle = state.phase { return true }
            return false
        }
        if idle {
            socket.endSending()
            socket.closeNow()
        }
    }

    /// Cancels the handler.
    func cancel() {
        let task = state.withLock { state in
            state.cancelled = true
            return state.task
        }
        task?.cancel()
    }

    private func peerGone(broken: Bool) {
        let gone = state.withLock { state in
            switch state.phase {
            case .idle, .reading: false  // the read in progress sees it
            case .upgraded: broken
            case .handling(let bodyPending): broken || !bodyPending  // guard: listener-client-gone
            }
        }
        if gone { cancel() }
    }

    // MARK: The life of the connection

    func run() async {
        socket.onPeerGone { [weak self] in self?.peerGone(broken: $0) }
        do {
            try await socket.handshake(until: .after(service.configuration.headTime))
            try await serve()
        } catch {
            service.log.debug("connection.ended", ["why": .string("\(error)")])
        }
        socket.closeNow()
    }

    private func serve() async throws {
        var input = ByteQueue()
        var isFirst = true
        while !Task.isCancelled, let head = try await nextHead(&input, isFirst: isFirst) {
            isFirst = false
            guard let rest = try await answer(head, input) else { return }
            input = rest
        }
        socket.endSending()
    }

    /// The next request, or nil when there will be none.
    private func nextHead(_ input: inout ByteQueue, isFirst: Bool) async throws -> RequestHead? {
        var parser = RequestHeadParser(limits: service.configuration.parsing)
        if input.isEmpty {
            guard enter(.idle) else { return nil }
            let patience = isFirst ? service.configuration.headTime : service.configuration.idleTime
            guard let bytes = try await socket.read(upTo: 16_384, until: .after(patience)) else { return nil }
            input.append(bytes)
        }
        _ = enter(.reading)
        let deadline = Deadline.after(service.configuration.headTime)
        do {
            while true {
                if let head = try parser.parse(&input) { return try check(head) }
                // The deadline is the head's, not the byte's: dripping does not extend it.
                let limit = deadline  // guard: listener-head-drip
                guard let bytes = try await socket.read(upTo: 16_384, until: limit) else { return nil }
                input.append(bytes)
            }
        } catch let refusal as Refusal {
            await refuse(refusal)
            throw refusal
        } catch let error as NacreError where error.code == "socket.timeout" {
            await refuse(Refusal(408, "The request head did not arrive in time."))
            throw error
        }
    }

    /// False when the connection is to end instead of waiting.
    private func enter(_ phase: Phase) -> Bool {
        state.withLock { state in
            state.phase = phase
            if case .idle = phase { return !state.draining }
            return true
        }
    }

    private func check(_ head: RequestHead) throws(Refusal) -> RequestHead {
        if head.method == .connect { throw Refusal(501, "No tunnels are made here.") }
        let elsewhere = attributes?.matches(authority: head.authority, isTLS: isTLS) == false
        if elsewhere {  // guard: listener-tunnel-host
            throw Refusal(421, "The Host field names another host than the tunnel was made for.")
        }
        return head
    }

    /// Answers bytes that are no request and drops what else the client sends, so that the answer is not lost to a reset.
    private func refuse(_ refusal: Refusal) async {
        service.log.info(
            "request.refused", ["status": .integer(Int64(refusal.status)), "why": .string(refusal.reason)])
        let body = refusal.reason + "\n"
        let reason = HTTPStatus(rawValue: refusal.status).reason
        let text =
            "HTTP/1.1 \(refusal.status) \(reason)\r\nContent-Type: text/plain; charset=utf-8\r\n"
            + "Content-Length: \(body.utf8.count)\r\nConnection: close\r\nDate: \(service.date.value)\r\n\r\n\(body)"
        try? await socket.write(Array(text.utf8), stall: .seconds(2), cancellable: false)
        await linger()
    }

    /// Ends our half and reads on for a moment: closing over unread bytes would reset the connection under the answer.
    private func linger() async {
        socket.endSending()
        let deadline = Deadline.after(service.configuration.linger.time)
        var room = service.configuration.linger.bytes
        while room > 0, let bytes = try? await socket.read(upTo: 65_536, until: deadline) { room -= bytes.count }
    }

    // MARK: One request

    /// Has it answered; what was read beyond it comes back, or nil when the connection ends here.
    private func answer(_ head: RequestHead, _ input: ByteQueue) async throws -> ByteQueue? {
        let body = RequestBody(
            head, input: input, socket: socket, limits: service.configuration.parsing,
            stall: service.configuration.bodyStall, pace: service.configuration.bodyPace,
            ended: { [weak self] in self?.bodyEnded() })
        _ = enter(.handling(bodyPending: head.framing != .none))
        if head.framing == .none, socket.peerHasEnded { cancel() }
        let response = try await respond(to: head, body)
        if response.upgrade != nil, response.status == .switchingProtocols {
            try await upgrade(response, head, body)
            return nil
        }
        return try await send(response, head, body)
    }

    private func bodyEnded() {
        let entered = state.withLock { state in
            guard case .handling(true) = state.phase else { return false }
            state.phase = .handling(bodyPending: false)
            return true
        }
        if entered, socket.peerHasEnded { cancel() }
    }

    private func respond(to head: RequestHead, _ body: RequestBody) async throws -> HTTPResponse {
        let request = HTTPRequest(
            method: head.method, scheme: isTLS ? "https" : "http", authority: head.authority, target: head.target,
            fields: head.fields, body: body.value(head.framing))
        var context = RequestContext(id: service.nextRequestID(), clientAddress: clientAddress)
        if let attributes { context[ConnectionAttributes.self] = attributes }
        do {
            let response = try await service.responder.respond(to: request, context: context)
            guard response.status.rawValue >= 200 || response.upgrade != nil else {
                throw NacreError("http.bad_status", "A handler answered with an interim status; answer 200 or above.")
            }
            return response
        } catch let error as CancellationError {
            throw error
        } catch {
            return service.failure(error, requestID: context.id)
        }
    }

    private func send(_ response: HTTPResponse, _ head: RequestHead, _ body: RequestBody) async throws -> ByteQueue? {
        let isStream = if case .stream = response.body { true } else { false }
        // The body of a both-ways exchange is pulled only after our head has gone: the client must be let go before it.
        if isStream, response.status.isSuccess, body.takeContinue() {
            try await socket.write(RequestBody.proceed, stall: service.configuration.writeStall, cancellable: false)
        }
        let closes =
            !head.wantsKeepAlive || isDraining || response.fields.tokens("Connection").contains("close")
            || ResponseFraming(response, to: head) == .untilClose || body.owesContinue
            || body.endsConnection  // guard: listener-early-close
        let connection = closes ? "close" : head.minorVersion == 0 ? "keep-alive" : nil
        let writer = ResponseWriter(
            socket: socket, stall: service.configuration.writeStall, pace: service.configuration.bodyPace,
            date: service.date)
        do {
            try await writer.write(response, to: head, connection: connection)
        } catch let error as NacreError where error.code == "http.bad_field" {
            let failure = service.failure(error, requestID: "")
            try await writer.write(failure, to: head, connection: connection)
        } catch {
            service.log.info("response.aborted", ["why": .string("\(error)")])
            if response.body.length == nil {
                // Where no length was told, an end in good order would pass for the whole. What was sent gets a moment to
                // arrive, for a reset overtakes it.
                try? await ContinuousClock().sleep(for: .milliseconds(100))
                socket.breakNow()  // guard: listener-broken-answer
            }
            throw error
        }
        let rest = await body.reclaim()
        guard !closes, let rest else {
            if rest == nil { await linger() } else { socket.endSending() }
            return nil
        }
        return rest
    }

    private var isDraining: Bool { state.withLock { $0.draining } }

    private func upgrade(_ response: HTTPResponse, _ head: RequestHead, _ body: RequestBody) async throws {
        _ = enter(.upgraded)
        let writer = ResponseWriter(socket: socket, stall: service.configuration.writeStall, date: service.date)
        try await writer.write(response, to: head, connection: "Upgrade")
        let stream = UpgradedStream(socket, buffered: body.takeBuffered(), stall: service.configuration.writeStall)
        try await response.upgrade?(stream)
        socket.endSending()
    }
}
