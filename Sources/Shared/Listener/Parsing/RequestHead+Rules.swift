// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreHTTP

extension RequestHead {
    /// Applies the rules that concern several fields at once: host, target form, framing, expectations.
    init(line: RequestLine, fields all: HTTPFields) throws(Refusal) {
        var fields = all
        let host = try Self.host(of: all, minorVersion: line.minorVersion)
        framing = try BodyFraming(fields: all, minorVersion: line.minorVersion)
        (target, authority, isAbsolute) = try Self.resolve(line, host: host)
        expectsContinue = try Self.expectation(of: all) && line.minorVersion == 1
        let connection = all.tokens("Connection")
        wantsKeepAlive =
            line.minorVersion == 1 ? !connection.contains("close") : connection.contains("keep-alive")
        for implied in ["Host", "Content-Length", "Transfer-Encoding"] { fields.removeAll(implied) }
        method = HTTPMethod(rawValue: line.method)
        minorVersion = line.minorVersion
        self.fields = fields
    }

    private static func host(of fields: HTTPFields, minorVersion: Int) throws(Refusal) -> String {
        let hosts = fields.values("Host")
        guard hosts.count <= 1 else {  // guard: listener-two-hosts
            throw Refusal(400, "The request has more than one Host field.")
        }
        guard let host = hosts.first else {
            if minorVersion == 0 { return "" }  // guard: listener-no-host
            throw Refusal(400, "The request has no Host field.")
        }
        guard !host.isEmpty, host.utf8.allSatisfy(ByteClass.isAuthority) else {  // guard: listener-host-bytes
            throw Refusal(400, "The Host field is not a host with an optional port.")
        }
        return host
    }

    /// The four forms of a target (RFC 9112 section 3.2).
    private static func resolve(
        _ line: RequestLine, host: String
    ) throws(Refusal) -> (target: String, authority: String, isAbsolute: Bool) {
        let target = line.target
        if line.method == "CONNECT" {
            guard target.utf8.allSatisfy(ByteClass.isAuthority), target.contains(":") else {
                throw Refusal(400, "CONNECT needs \"host:port\".")
            }
            return (target, target, false)
        }
        if target.hasPrefix("/") { return (target, host, false) }
        if target == "*", line.method == "OPTIONS" { return (target, host, false) }
        guard let rest = withoutScheme(target) else {
            throw Refusal(400, "The request target is neither a path nor a URL.")
        }
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        guard !authority.isEmpty else {  // guard: listener-absolute-empty
            throw Refusal(400, "The URL in the request line names no host.")
        }
        guard authority.lowercased() == host.lowercased() else {  // guard: listener-absolute-host
            throw Refusal(400, "The Host field differs from the URL in the request line.")
        }
        let path = rest.dropFirst(authority.count)
        return (path.hasPrefix("/") ? String(path) : "/" + path, host, true)
    }

    private static func withoutScheme(_ target: String) -> Substring? {
        for scheme in ["http://", "https://"] where target.lowercased().hasPrefix(scheme) {
            return target.dropFirst(scheme.count)
        }
        return nil
    }

    private static func expectation(of fields: HTTPFields) throws(Refusal) -> Bool {
        let expectations = fields.tokens("Expect")
        guard expectations.allSatisfy({ $0 == "100-continue" }) else {
            throw Refusal(417, "The only expectation known here is 100-continue.")
        }
        return !expectations.isEmpty
    }
}

extension BodyFraming {
    /// The framing that these fields declare; anything two parsers could read in two ways is refused.
    init(fields: HTTPFields, minorVersion: Int) throws(Refusal) {
        let lengths = fields.values("Content-Length")
        let codings = fields.values("Transfer-Encoding")
        guard codings.isEmpty else {
            guard lengths.isEmpty else {  // guard: listener-cl-te
                throw Refusal(400, "The request has both Content-Length and Transfer-Encoding.")
            }
            guard minorVersion == 1 else { throw Refusal(400, "HTTP/1.0 has no Transfer-Encoding.") }
            guard codings.count == 1 else {  // guard: listener-two-te
                throw Refusal(400, "The request has two Transfer-Encoding fields.")
            }
            guard equalNames(codings[0], "chunked") else {  // guard: listener-te-other
                let last = codings[0].parts(at: ",").last?.trimmingSpaces() ?? ""
                if codings[0].utf8.contains(UInt8(ascii: ",")), !equalNames(last, "chunked") {
                    throw Refusal(400, "The last transfer coding is not chunked.")
                }
                throw Refusal(501, "The only transfer coding known here is chunked.")
            }
            self = .chunked
            return
        }
        guard lengths.count <= 1 else {  // guard: listener-two-cl
            throw Refusal(400, "The request has two Content-Length fields.")
        }
        guard let length = lengths.first else {
            self = .none
            return
        }
        guard !length.isEmpty, length.utf8.allSatisfy(ByteClass.isDigit) else {  // guard: listener-cl-digits
            throw Refusal(400, "Content-Length is not a plain number.")
        }
        guard length.utf8.count <= 18, let count = Int(length) else {
            throw Refusal(413, "The declared body is too large.")
        }
        self = count == 0 ? .none : .length(count)
    }
}
