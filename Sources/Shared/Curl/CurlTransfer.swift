// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CCurl
import NacreCore
import NacreHTTP

/// One exchange. Everything here except the two buffers is touched on the loop's thread only.
///
/// `@unchecked Sendable` because curl's C callbacks find it by pointer; the loop's queue orders every access.
final class CurlTransfer: @unchecked Sendable {
    private let request: HTTPRequest
    private let configuration: CurlConfiguration
    private let proxy: String?
    private let loop: CurlLoop
    private let inbox: CurlInbox
    private let outbox: CurlOutbox?
    private(set) var handle: UnsafeMutableRawPointer?
    private var continuation: CheckedContinuation<HTTPResponse, any Error>?
    private var lists: [UnsafeMutablePointer<curl_slist>] = []
    private var head = ResponseHead()
    private var headBytes = 0
    private var headLines = 0
    /// What all heads of an exchange, interim answers and trailers included, may be together.
    private static let mostHeadBytes = 512 * 1024
    private static let mostHeadLines = 4000
    private var deadline: ContinuousClock.Instant?
    private var isCancelled = false
    private var pump: Task<Void, Never>?

    init(request: HTTPRequest, configuration: CurlConfiguration, proxy: String?, loop: CurlLoop) {
        self.request = request
        self.configuration = configuration
        self.proxy = proxy
        self.loop = loop
        inbox = CurlInbox()
        if case .stream = request.body { outbox = CurlOutbox() } else { outbox = nil }
    }

    /// Makes the handle; nil when the task was cancelled first.
    func begin(_ continuation: CheckedContinuation<HTTPResponse, any Error>) -> UnsafeMutableRawPointer? {
        guard !isCancelled, let handle = curl_easy_init() else {
            continuation.resume(throwing: CancellationError())
            return nil
        }
        self.handle = handle
        self.continuation = continuation
        deadline = .now + configuration.connectTimeout + configuration.headTimeout
        setConnection(handle)
        setRequest(handle)
        setCallbacks(handle)
        startPump()
        return handle
    }

    func markCancelled() { isCancelled = true }

    func isOverdue(_ now: ContinuousClock.Instant) -> Bool { continuation != nil && deadline.map { $0 < now } ?? false }

    private func setConnection(_ handle: UnsafeMutableRawPointer) {
        nacre_curl_set_text(handle, CURLOPT_URL, request.url)
        nacre_curl_set_long(handle, CURLOPT_NOSIGNAL, 1)
        nacre_curl_set_text(handle, CURLOPT_PROTOCOLS_STR, "http,https")
        nacre_curl_set_text(handle, CURLOPT_PROXY, proxy ?? "")
        nacre_curl_set_large(
            handle, CURLOPT_CONNECTTIMEOUT_MS, curl_off_t(configuration.connectTimeout.inMilliseconds))
        nacre_curl_set_long(handle, CURLOPT_PATH_AS_IS, 1)
        nacre_curl_set_long(handle, CURLOPT_PIPEWAIT, request.scheme == "https" ? 1 : 0)
        if let file = configuration.authoritiesFile { nacre_curl_set_text(handle, CURLOPT_CAINFO, file) }
        if !configuration.resolve.isEmpty { setList(handle, CURLOPT_RESOLVE, configuration.resolve) }
    }

    /// Bytes of curl's own buffer for what is sent.
    private static let largeUpload = 512 * 1024

    private func setRequest(_ handle: UnsafeMutableRawPointer) {
        var lines = request.fields.fields.map { $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" }
        // Without these, curl adds headers of its own making.
        if request.fields["Expect"] == nil { lines.append("Expect:") }
        if request.fields["Content-Type"] == nil { lines.append("Content-Type:") }
        if request.fields["User-Agent"] == nil { lines.append("User-Agent: \(configuration.userAgent)") }
        if request.fields["Host"] == nil { lines.append("Host: \(request.authority)") }
        setList(handle, CURLOPT_HTTPHEADER, lines)
        switch request.body {
        case .bytes(let bytes):
            setPost(handle, bytes)
        case .stream(_, let length):
            nacre_curl_set_long(handle, CURLOPT_UPLOAD, 1)
            nacre_curl_set_large(handle, CURLOPT_INFILESIZE_LARGE, curl_off_t(length ?? -1))
            // A body that may be large is read in larger pieces than curl's usual 64 KB; a small one has no use for them.
            if length ?? .max > Self.largeUpload {
                nacre_curl_set_long(handle, CURLOPT_UPLOAD_BUFFERSIZE, Self.largeUpload)
            }
        case .none:
            if request.method == .head {
                nacre_curl_set_long(handle, CURLOPT_NOBODY, 1)
            } else if request.method == .post || request.method == .put || request.method == .patch {
                setPost(handle, [])
            }
        }
        nacre_curl_set_text(handle, CURLOPT_CUSTOMREQUEST, request.method.rawValue)
    }

    private func setPost(_ handle: UnsafeMutableRawPointer, _ bytes: [UInt8]) {
        nacre_curl_set_long(handle, CURLOPT_POST, 1)
        nacre_curl_set_large(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(bytes.count))
        bytes.withUnsafeBytes { buffer in
            // An empty array may have no address, and a null pointer would make curl ask the read callback.
            guard let base = buffer.baseAddress else {
                nacre_curl_set_text(handle, CURLOPT_COPYPOSTFIELDS, "")
                return
            }
            nacre_curl_set_pointer(handle, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: base))
        }
    }

    private func setList(_ handle: UnsafeMutableRawPointer, _ option: CURLoption, _ lines: [String]) {
        var list: UnsafeMutablePointer<curl_slist>?
        for line in lines { list = curl_slist_append(list, line) }
        guard let list else { return }
        lists.append(list)
        nacre_curl_set_list(handle, option, list)
    }

    private func setCallbacks(_ handle: UnsafeMutableRawPointer) {
        let me = Unmanaged.passUnretained(self).toOpaque()
        nacre_curl_set_pointer(handle, CURLOPT_HEADERDATA, me)
        nacre_curl_set_data(handle, CURLOPT_HEADERFUNCTION) { bytes, size, count, me in
            guard let bytes, let me else { return 0 }
            let buffer = UnsafeRawBufferPointer(start: bytes, count: size * count)
            // Any other number ends the transfer.
            return Unmanaged<CurlTransfer>.fromOpaque(me).takeUnretainedValue().headerLine(buffer) ? size * count : 0
        }
        nacre_curl_set_pointer(handle, CURLOPT_WRITEDATA, me)
        nacre_curl_set_data(handle, CURLOPT_WRITEFUNCTION) { bytes, size, count, me in
            guard let bytes, let me, size * count > 0 else { return 0 }
            let buffer = UnsafeRawBufferPointer(start: bytes, count: size * count)
            return Unmanaged<CurlTransfer>.fromOpaque(me).takeUnretainedValue().inbox.push(buffer)
        }
        nacre_curl_set_pointer(handle, CURLOPT_READDATA, me)
        nacre_curl_set_data(handle, CURLOPT_READFUNCTION) { bytes, size, count, me in
            guard let bytes, let me else { return 0 }
            let transfer = Unmanaged<CurlTransfer>.fromOpaque(me).takeUnretainedValue()
            transfer.deadline = .now + transfer.configuration.headTimeout
            let room = UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
            return transfer.outbox?.fill(room) ?? 0
        }
    }

    /// Moves the request's stream into the buffer that curl reads from.
    private func startPump() {
        guard let outbox, case .stream(let stream, _) = request.body else { return }
        let loop = self.loop
        pump = Task { [weak self] in
            do {
                while let chunk = try await stream.next() {
                    guard await outbox.put(chunk) else { return }
                    if outbox.takeWakeUp() { loop.run { thread in self.map(thread.resume) } }
                }
                outbox.finish(failed: false)
            } catch {
                outbox.finish(failed: true)
            }
            if outbox.takeWakeUp() { loop.run { thread in self.map(thread.resume) } }
        }
    }

    /// False when the head is more than anybody needs.
    private func headerLine(_ line: UnsafeRawBufferPointer) -> Bool {
        headBytes += line.count
        headLines += 1
        let fits = headBytes <= Self.mostHeadBytes && headLines <= Self.mostHeadLines  // guard: curl-head-limit
        guard fits else { return false }
        guard head.add(line) else { return true }
        // A 100 Continue (or an answered proxy CONNECT) comes before the real head.
        guard let (status, fields) = head.finish(), status.rawValue >= 200 else { return true }
        guard let continuation = continuation.take() else { return true }
        let body = CurlBody(inbox: inbox) { [loop] in
            loop.run { $0.resume(self) }
        } onDrop: { [loop] in
            loop.run { $0.cancel(self) }
        }
        let length = fields["Content-Length"].flatMap { Int($0) }
        let hasNoBody = status.hasNoBody || request.method == .head
        continuation.resume(
            returning: HTTPResponse(
                status: status, fields: fields,
                body: hasNoBody ? .none : .stream(ByteStream { try await body.next() }, length: length)))
        return true
    }

    /// Called once, after the handle has left the multi handle.
    func end(_ result: CURLcode) {
        var verification = 0
        if let handle { nacre_curl_get_long(handle, CURLINFO_SSL_VERIFYRESULT, &verification) }
        let error: (any Error)? =
            isCancelled
            ? CancellationError()
            : result == CURLE_OK ? nil : CurlTransfer.failure(result, of: request, verification: verification)
        inbox.finish(error)
        outbox?.abandon()
        pump?.cancel()
        if let continuation = continuation.take() {
            continuation.resume(
                throwing: error
                    ?? NacreError("transport.protocol", "The server at \(request.authority) closed without an answer."))
        }
        lists.forEach(curl_slist_free_all)
        lists = []
        if let handle { curl_easy_cleanup(handle) }
        handle = nil
    }

    private static func failure(_ result: CURLcode, of request: HTTPRequest, verification: Int) -> NacreError {
        let reason = String(cString: curl_easy_strerror(result))
        let place = request.authority
        switch result {
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_CONNECT:
            return NacreError("transport.unreachable", "\(place) cannot be reached (\(reason)); check the network.")
        case CURLE_OPERATION_TIMEDOUT:
            return NacreError("transport.timeout", "\(place) did not answer in time; try again.")
        case CURLE_PEER_FAILED_VERIFICATION:
            // Where OpenSSL has nothing to complain of (0, or curl's own "not looked at" 1), curl found another name in it.
            return CertificateFault(verification: verification <= 1 ? 62 : verification).error(host: place)
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CACERT_BADFILE:
            return NacreError("transport.tls", "The secure connection to \(place) failed (\(reason)); it was not used.")
        case CURLE_WRITE_ERROR:
            return NacreError("transport.protocol", "The answer of \(place) has a head without end; it was not used.")
        default:
            return NacreError("transport.protocol", "The exchange with \(place) failed (\(reason)).")
        }
    }
}
