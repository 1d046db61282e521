// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreHTTP

/// One request of a patched page, as its script describes it; checked, for a page's script may describe anything.
package struct PatchedRequest: Sendable {
    /// What the request carries.
    package enum Body: Sendable, Equatable {
        case none
        case whole([UInt8])
        /// In pieces by `PatchedFetch.write`; the length in bytes where it is known.
        case pieces(length: Int?)
    }

    /// How the page names it, unique within one page load.
    package let id: String
    package let method: HTTPMethod
    package let url: WebURL
    package let fields: HTTPFields
    package let body: Body
    /// Whether the session goes with it (`credentials` is anything but `omit`).
    package let hasSession: Bool
    /// Whether it outlives its page.
    package let isKeptAlive: Bool

    /// The most bytes that a message of the page may carry at once.
    package static let largestPiece = 1024 * 1024
    private static let largestFields = 256 * 1024
    private static let largestKept = 64 * 1024

    /// What a browser sets by itself or lets nobody set (Fetch standard, "forbidden request-header").
    private static let forbidden: Set<String> = [
        "accept-charset", "accept-encoding", "connection", "content-length", "cookie", "cookie2", "date", "dnt",
        "expect", "host", "keep-alive", "origin", "referer", "set-cookie", "te", "trailer", "transfer-encoding",
        "upgrade", "via",
    ]

    /// Reads the options of the script's `open`.
    ///
    /// - Throws: `page.request` that says what no request can be.
    package init(_ options: JSONValue) throws(NacreError) {
        func fault(_ reason: String) -> NacreError { NacreError("page.request", "A request of the page \(reason).") }
        guard let id = options["id"]?.string, (1...64).contains(id.utf8.count) else { throw fault("has no id") }
        self.id = id
        let method = options["method"]?.string ?? "GET"
        let unusual: Set<String> = ["CONNECT", "TRACE", "TRACK"]
        guard !method.isEmpty, method.utf8.count <= 32, method.utf8.allSatisfy(Self.isToken),
            !unusual.contains(method.uppercased())  // guard: patched-method
        else { throw fault("has a method that no page may use") }
        self.method = HTTPMethod(rawValue: method)
        guard let text = options["url"]?.string, let url = try? WebURL(text) else {
            throw fault("is for no http or https address")
        }
        self.url = url
        var fields = HTTPFields()
        var size = 0
        for pair in options["headers"]?.array ?? [] {
            guard let name = pair.array?.first?.string, let value = pair.array?.last?.string, pair.array?.count == 2,
                !name.isEmpty, name.utf8.allSatisfy(Self.isToken),
                value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 })  // guard: patched-header-injection
            else { throw fault("has a header field that is none") }
            size += name.utf8.count + value.utf8.count
            guard size <= Self.largestFields else { throw fault("has header fields of more than 256 KB") }
            let lower = name.asciiLowercased
            let isBrowsers =
                Self.forbidden.contains(lower) || lower.hasPrefix("proxy-") || lower.hasPrefix("sec-")
            if !isBrowsers { fields.append(name, value) }  // guard: patched-forbidden-header
        }
        fields["Accept-Encoding"] = "gzip, deflate"
        if fields["Accept"] == nil { fields["Accept"] = "*/*" }
        self.fields = fields
        body = try Self.body(options["body"] ?? .null, fault: fault)
        hasSession = options["credentials"]?.string != "omit"
        isKeptAlive = options["keepalive"]?.bool ?? false
        // The Fetch standard's limit: what outlives its page must not be large, nor without an end.
        let carried: Int? =
            switch body {
            case .none: 0
            case .whole(let bytes): bytes.count
            case .pieces: nil
            }
        guard !isKeptAlive || carried.map({ $0 <= Self.largestKept }) ?? false else {  // guard: patched-kept-size
            throw fault("is to be kept alive and has more than 64 KB")
        }
    }

    private static func body(
        _ value: JSONValue, fault: (String) -> NacreError
    ) throws(NacreError) -> Body {
        if value.isNull { return .none }
        if let text = value.string {
            guard text.utf8.count <= largestPiece / 3 * 4 + 4, let bytes = Base64.decode(text) else {
                throw fault("has a body that is too large for one message, or no base64")
            }
            return .whole(bytes)
        }
        guard value.object != nil else { throw fault("has a body that cannot be carried") }
        guard let length = value["length"], !length.isNull else { return .pieces(length: nil) }
        guard let count = length.integer.map(Int.init), count >= 0 else { throw fault("has a body of no length") }
        return .pieces(length: count)
    }

    private static func isToken(_ byte: UInt8) -> Bool {
        (byte > 0x20 && byte < 0x7F) && !"()<>@,;:\\\"/[]?={}".utf8.contains(byte)
    }
}

/// The head of an answer, as the page's script takes it.
package struct PatchedHead: Sendable {
    package let status: HTTPStatus
    package let fields: HTTPFields
    /// Under which name the body waits at the page's own host; nil where there is none.
    package let token: String?

    /// The message to the page.
    package var json: JSONValue {
        [
            "status": JSONValue(status.rawValue), "statusText": .string(status.reason),
            "headers": .array(
                fields.fields.map { .array([.string($0.name.asciiLowercased), .string(Self.bytes($0.value))]) }),
            "token": token.map(JSONValue.string) ?? .null,
        ]
    }

    /// A page reads the bytes of a field one by one, as every browser shows them.
    private static func bytes(_ value: String) -> String {
        guard !value.utf8.allSatisfy({ $0 < 0x80 }) else { return value }
        return String(String.UnicodeScalarView(value.utf8.map { Unicode.Scalar($0) }))
    }
}
