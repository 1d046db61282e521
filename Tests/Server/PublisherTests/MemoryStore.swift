// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreHTTP
import NacreReleases
import Synchronization

@testable import NacrePublisher

/// An S3 store in memory, as far as publishing needs one.
final class MemoryStore: HTTPTransport {
    struct Object: Sendable {
        var bytes: [UInt8]
        var fields: [String: String]
    }
    struct State {
        var exists = true
        var objects: [String: Object] = [:]
        var policy: [UInt8]?
        var keeps = true
        var requests: [HTTPRequest] = []
        /// Comes before everything; nil lets the request pass.
        var fault: (@Sendable (HTTPRequest, Int) throws -> HTTPResponse?)?
        /// Comes after the store has done it; throws to lose the answer.
        var lose: (@Sendable (HTTPRequest, Int) throws -> Void)?
    }
    let state: Mutex<State>
    static let environment = [
        "MOBILE_OTA_S3_ENDPOINT": "https://store.example.org", "MOBILE_OTA_S3_BUCKET": "updates",
        "MOBILE_OTA_S3_ACCESS_KEY": "KEYID", "MOBILE_OTA_S3_SECRET_KEY": "very-secret-value",
        "MOBILE_OTA_S3_KEY_PREFIX": "mobile/app",
    ]

    init(keeps: Bool = true) {
        var state = State()
        state.keeps = keeps
        self.state = Mutex(state)
    }

    func change(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }
    var objects: [String: Object] { state.withLock { $0.objects } }
    var requests: [HTTPRequest] { state.withLock { $0.requests } }

    func bucket(time: any TimeSource = HastyTime(), _ adjust: (inout [String: String]) -> Void = { _ in }) throws
        -> S3Bucket
    {
        var environment = Self.environment
        adjust(&environment)
        return S3Bucket(
            try S3Configuration(bucket: nil, environment: environment), transport: self, time: time,
            random: SystemRandom(),
            threads: WorkThreads(limit: 2, waiting: 4096))
    }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let body = try await request.body.collect(upTo: 100_000_000)
        let (number, fault, lose) = state.withLock { state in
            state.requests.append(request)
            return (state.requests.count, state.fault, state.lose)
        }
        if let answer = try fault?(request, number) { return answer }
        let answer = state.withLock { Self.answer(request, body, &$0) }
        try lose?(request, number)
        return answer
    }

    static func error(_ status: HTTPStatus, _ code: String, _ more: String = "") -> HTTPResponse {
        HTTPResponse(
            status: status, fields: ["Date": "Mon, 21 Sep 2026 14:13:20 GMT"],
            body: .text("<?xml version=\"1.0\"?>\n<Error><Code>\(code)</Code><Message>no</Message>\(more)</Error>"))
    }

    private static func answer(_ request: HTTPRequest, _ body: [UInt8], _ state: inout State) -> HTTPResponse {
        let isSigned = request.fields["Authorization"] != nil
        guard !isSigned || request.fields["Authorization"]?.contains("Credential=KEYID/") == true else {
            return error(403, "InvalidAccessKeyId")
        }
        if isSigned, request.fields["x-amz-content-sha256"] != Hex.encode(SHA256.hash(body)) {
            return error(400, "XAmzContentSHA256Mismatch")
        }
        guard request.path == "/updates" || request.path.hasPrefix("/updates/") else {
            return error(404, "NoSuchBucket")
        }
        if request.path == "/updates" { return bucketAnswer(request, body, isSigned, &state) }
        guard state.exists else { return error(404, "NoSuchBucket") }
        let key = PercentEncoding.decode(request.path.dropFirst("/updates/".count)) ?? ""
        switch request.method {
        case .put:
            if state.keeps {
                let present = state.objects[key].map { tag($0.bytes) }
                if request.fields["If-None-Match"] == "*", present != nil { return error(412, "PreconditionFailed") }
                if let wanted = request.fields["If-Match"], wanted != present {
                    return error(412, "PreconditionFailed")
                }
            }
            let kept = ["Content-Type", "Cache-Control"].compactMap { name in request.fields[name].map { (name, $0) } }
            state.objects[key] = Object(bytes: body, fields: Dictionary(kept) { $1 })
            return HTTPResponse(fields: ["ETag": tag(body)])
        case "DELETE":
            state.objects[key] = nil
            return HTTPResponse(status: .noContent)
        default:
            guard let object = state.objects[key] else {
                return request.method == .head ? HTTPResponse(status: .notFound) : error(404, "NoSuchKey")
            }
            var fields: HTTPFields = ["ETag": tag(object.bytes), "Content-Length": "\(object.bytes.count)"]
            for (name, value) in object.fields { fields[name] = value }
            return HTTPResponse(fields: fields, body: request.method == .head ? .none : .bytes(object.bytes))
        }
    }

    private static func tag(_ bytes: [UInt8]) -> String { "\"\(TreeDigest(of: bytes).description.prefix(32))\"" }

    private static func bucketAnswer(
        _ request: HTTPRequest, _ body: [UInt8], _ isSigned: Bool, _ state: inout State
    ) -> HTTPResponse {
        let query = (request.query ?? "").split(separator: "&").map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map {
                PercentEncoding.decode($0) ?? ""
            }
            return (parts[0], parts.count > 1 ? parts[1] : "")
        }
        let values = Dictionary(query) { $1 }
        if values["policy"] != nil {
            if request.method == .put { state.policy = body }
            return state.policy.map { HTTPResponse(body: .bytes($0)) } ?? error(404, "NoSuchBucketPolicy")
        }
        guard request.method != .put else {
            guard !state.exists else { return error(409, "BucketAlreadyOwnedByYou") }
            state.exists = true
            return HTTPResponse()
        }
        guard state.exists else {
            return request.method == .head ? HTTPResponse(status: .notFound) : error(404, "NoSuchBucket")
        }
        guard request.method == .get else { return HTTPResponse() }
        guard isSigned else { return error(403, "AccessDenied") }
        let keys = state.objects.keys.filter { $0.hasPrefix(values["prefix"] ?? "") }.sorted()
        let rest = keys.drop { $0 <= values["continuation-token"] ?? "" }
        // Small parts, so that there are several.
        let part = rest.prefix(3)
        let more = rest.count > part.count ? "<NextContinuationToken>\(part.last ?? "")</NextContinuationToken>" : ""
        return HTTPResponse(
            body: .text(
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
                    + "<IsTruncated>\(!more.isEmpty)</IsTruncated>\(more)"
                    + part.map { "<Contents><Key>\($0)</Key><Size>1</Size></Contents>" }.joined()
                    + "</ListBucketResult>"))
    }
}

/// A clock whose short pauses are over at once and whose long limits never come.
struct HastyTime: TimeSource {
    let now = Instant(seconds: 1_790_000_000)
    func sleep(for duration: Duration) async throws {
        guard duration > .seconds(8) else { return }
        try await ContinuousClock().sleep(for: .seconds(3600))
    }
}
