// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreHTTP

/// The request line and header fields, checked.
package struct RequestHead: Sendable {
    /// The method, upper case.
    package let method: HTTPMethod
    /// Path and query (or `*`, or the authority of a CONNECT), as on the wire.
    package let target: String
    /// The Host field, or the authority of an absolute target; empty only for HTTP/1.0 without Host.
    package let authority: String
    /// 0 for HTTP/1.0, 1 for HTTP/1.1.
    package let minorVersion: Int
    /// Every field, without Host, Content-Length and Transfer-Encoding.
    package let fields: HTTPFields
    /// How the body is delimited.
    package let framing: BodyFraming
    /// Whether the sender waits for `100 Continue` before its body.
    package let expectsContinue: Bool
    /// Whether the sender wants the connection kept after the response.
    package let wantsKeepAlive: Bool
    /// Whether the target came in absolute form, as to a proxy.
    package let isAbsolute: Bool
}

/// How the end of a request body is found (RFC 9112 section 6).
package enum BodyFraming: Hashable, Sendable {
    case none
    case length(Int)
    case chunked
}
