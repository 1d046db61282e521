// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreBridge
package import NacreCore
package import NacreHTTP

/// Capacitor's `CapacitorHttp`: requests over the native transport, the API's the page channel's way, through its
/// interceptors with the session and the CSRF rule (NB-1, NB-3), any other host's with a jar of its own.
package struct HTTPPlugin: BridgePlugin {
    /// A result crosses the bridge as one text; larger bodies belong to `fetch`.
    static let largestBody = 32 * 1024 * 1024
    static let redirects = 20

    package let name = "CapacitorHttp"
    package let methods = ["request", "get", "post", "put", "patch", "delete"].map { BridgeMethod($0) }
    private let transport: any HTTPTransport
    private let api: any HTTPTransport
    private let cookies: PageCookieJar
    private let address: APIAddress
    private let time: any TimeSource
    private let random: any RandomSource

    package init(
        transport: any HTTPTransport, api: any HTTPTransport, cookies: PageCookieJar, address: APIAddress,
        time: any TimeSource, random: any RandomSource
    ) {
        self.transport = transport
        self.api = api
        self.cookies = cookies
        self.address = address
        self.time = time
        self.random = random
    }

    package func call(_ method: String, options: JSONValue, call: BridgeCallContext) async throws -> JSONValue {
        let plan = try HTTPPlan(method, options, address: address, random: random)
        var (url, verb, body, fields) = (plan.url, plan.method, plan.body, plan.fields)
        var hasLeft = false
        for _ in 0...Self.redirects {
            hasLeft = hasLeft || !cookies.isAPI(url)
            let request = HTTPRequest(verb, url, fields: fields, body: body.map(HTTPBody.bytes) ?? HTTPBody.none)
            let response = try await send(request, url, plan)
            guard plan.followsRedirects, let location = response.fields["Location"],
                [301, 302, 303, 307, 308].contains(response.status.rawValue)
            else { return try await answer(response, url, plan) }
            guard let next = url.resolving(location).map(network) else {
                throw BridgeRejection(code: "http.redirect", message: "The server redirects to what is no web address.")
            }
            try address.check(next)
            // Another server must not choose what is done at the API in the person's name.
            guard !hasLeft || !cookies.isAPI(next) else {  // guard: http-redirect-back
                throw BridgeRejection(code: "http.redirect", message: "Another server redirects to the API.")
            }
            let code = response.status.rawValue
            if code == 303 && verb != .head || (code == 301 || code == 302) && verb == .post {
                (verb, body) = (.get, nil)
                fields.removeAll { $0.hasPrefix("content-") }
            }
            if next.origin != url.origin {
                // What was meant for one server is not told to another.
                // guard: http-redirect-credentials
                fields.removeAll { ["authorization", "cookie", "x-csrftoken"].contains($0) }
            }
            url = next
        }
        throw BridgeRejection(code: "http.redirect", message: "The server redirects in a circle.")
    }

    /// A redirect may name the API as the page sees it.
    private func network(_ url: WebURL) -> WebURL {
        url.origin == address.visible ? WebURL(origin: address.api, target: url.target) : url
    }

    private func send(_ request: HTTPRequest, _ url: WebURL, _ plan: HTTPPlan) async throws -> HTTPResponse {
        let isAPI = cookies.isAPI(url)
        var request = request
        if !isAPI, request.fields["Cookie"] == nil, let header = cookies.header(for: url) {
            request.fields["Cookie"] = header
        }
        let (sent, way) = (request, isAPI ? api : transport)
        let response = try await withTimeLimit(plan.headTime, time: time, timeout: { Self.late(url) }) {
            try await way.send(sent)
        }
        if !isAPI { cookies.keep(response.fields, from: url) }
        return response
    }

    private func answer(_ response: HTTPResponse, _ url: WebURL, _ plan: HTTPPlan) async throws -> JSONValue {
        let encoding = response.fields["Content-Encoding"]?.lowercased() ?? "identity"
        guard encoding == "identity" else {
            throw BridgeRejection(
                code: "http.encoding", message: "The server sent \(encoding), which was not asked for.")
        }
        let bytes = plan.method == .head ? [] : try await collect(response.body, url, plan)
        var headers: [String: JSONValue] = [:]
        for field in response.fields.fields {
            let name = field.name.asciiLowercased
            guard name != "set-cookie", name != "set-cookie2" else { continue }  // guard: http-set-cookie
            headers[name] = .string((headers[name]?.string.map { $0 + ", " } ?? "") + field.value)
        }
        let data = HTTPResult.data(bytes, type: response.fields["Content-Type"] ?? "", wanted: plan.responseType)
        return [
            "status": JSONValue(response.status.rawValue), "url": .string(address.shown(url)),
            "headers": .object(headers), "data": data,
        ]
    }

    private func collect(_ body: HTTPBody, _ url: WebURL, _ plan: HTTPPlan) async throws -> [UInt8] {
        let tooLarge = BridgeRejection(
            code: "http.body_too_large", message: "The answer is larger than 32 MB; get it with fetch.")
        if let length = body.length, length > Self.largestBody { throw tooLarge }
        var result: [UInt8] = []
        let stream = body.stream
        while let chunk = try await withTimeLimit(
            plan.readTime, time: time, timeout: { Self.late(url) }, operation: { try await stream.next() })
        {
            guard result.count + chunk.count <= Self.largestBody else { throw tooLarge }  // guard: http-body-limit
            result += chunk
        }
        return result
    }

    private static func late(_ url: WebURL) -> NacreError {
        NacreError("transport.timeout", "\(url.origin) did not answer in time.")
    }
}

/// One call's request, read from its options.
private struct HTTPPlan {
    let url: WebURL
    let method: HTTPMethod
    var fields: HTTPFields
    let body: [UInt8]?
    let responseType: String
    let followsRedirects: Bool
    let headTime: Duration
    let readTime: Duration

    /// What belongs to the connection, or is told by the request itself.
    private static let own: Set<String> = [
        "host", "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "te", "trailer", "expect",
        "accept-encoding",
    ]

    init(_ name: String, _ values: JSONValue, address: APIAddress, random: any RandomSource) throws {
        let options = Options("CapacitorHttp.\(name)", values)
        let verb = name == "request" ? (options["method"]?.string ?? "GET").uppercased() : name.uppercased()
        guard !verb.isEmpty, verb.utf8.allSatisfy(Self.isToken), verb != "CONNECT", verb != "TRACE" else {
            throw BridgeRejection.invalid("\(verb) is no method of a request.")
        }
        method = HTTPMethod(rawValue: verb)
        url = try Self.url(options, address)
        fields = ["Accept-Encoding": "identity"]
        for (name, value) in (options["headers"]?.object ?? [:]).sorted(by: { $0.key < $1.key }) where !value.isNull {
            let text = value.string ?? value.text
            guard !name.isEmpty, name.utf8.allSatisfy(Self.isToken),
                text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 })  // guard: http-header-injection
            else { throw BridgeRejection.invalid("\"\(name)\" is no header field.") }
            let lower = name.asciiLowercased
            if !Self.own.contains(lower), !lower.hasPrefix("proxy-") { fields[name] = text }
        }
        let chosen = HTTPMethod(rawValue: verb)
        if chosen != .get, chosen != .head, let data = options["data"] {
            let made = try HTTPRequestBody(
                data, dataType: options["dataType"]?.string, contentType: fields["Content-Type"], random: random)
            if let type = made.type { fields["Content-Type"] = type }
            body = made.bytes
        } else {
            body = nil
        }
        responseType = try options.word(
            "responseType", of: ["arraybuffer", "blob", "json", "text", "document"], fallback: "text")
        followsRedirects = !(options["disableRedirects"]?.bool ?? false)
        let connect = try Self.time(options, "connectTimeout")
        let read = try Self.time(options, "readTimeout")
        readTime = read ?? .seconds(600)
        headTime = (connect ?? .zero) + readTime
    }

    private static func url(_ options: Options, _ address: APIAddress) throws -> WebURL {
        let url = try address.url(options.text("url"))
        guard let params = options["params"]?.object, !params.isEmpty else { return url }
        let encodes = options["shouldEncodeUrlParams"]?.bool ?? true
        let pairs = params.sorted { $0.key < $1.key }.flatMap { name, value in
            (value.array ?? [value]).map { value -> String in
                let text = value.string ?? value.text
                return encodes ? PercentEncoding.encode(name) + "=" + PercentEncoding.encode(text) : "\(name)=\(text)"
            }
        }
        let target = url.target + (url.query == nil ? "?" : "&") + pairs.joined(separator: "&")
        guard target.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {  // guard: http-params
            throw BridgeRejection.invalid("The params have characters that must be encoded.")
        }
        return WebURL(origin: url.origin, target: target)
    }

    private static func time(_ options: Options, _ name: String) throws -> Duration? {
        guard let value = options[name] else { return nil }
        guard let number = value.real, (0...86_400_000).contains(number) else {
            throw BridgeRejection.invalid("{\(name)} is a number of milliseconds.")
        }
        return number == 0 ? nil : .milliseconds(Int64(number))
    }

    private static func isToken(_ byte: UInt8) -> Bool {
        (byte > 0x20 && byte < 0x7F) && !"()<>@,;:\\\"/[]?={}".utf8.contains(byte)
    }
}

/// The `data` of a result, as Capacitor makes it: JSON where the server says so or the page asks, base64 for bytes.
enum HTTPResult {
    static func data(_ bytes: [UInt8], type: String, wanted: String) -> JSONValue {
        let media = type.prefix { $0 != ";" }.trimmingSpaces().lowercased()
        if media == "application/json" || media == "application/vnd.api+json" || wanted == "json" {
            if bytes.isEmpty { return .null }
            return (try? JSONParser.parse(bytes)) ?? .string(text(bytes, type))
        }
        if wanted == "arraybuffer" || wanted == "blob" { return .string(Base64.encode(bytes)) }
        return .string(text(bytes, type))
    }

    private static func text(_ bytes: [UInt8], _ type: String) -> String {
        let parameter = type.lowercased().firstRange(ofText: "charset=").map { type.lowercased()[$0.upperBound...] }
        let charset = parameter?.prefix { $0 != ";" }.trimmingSpaces().filter { $0 != "\"" }
        guard let charset, ["iso-8859-1", "latin1", "windows-1252", "us-ascii"].contains(charset) else {
            return String(decoding: bytes, as: UTF8.self)
        }
        return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }
}
