// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore

/// Whether two names are the same code points (RFC 7519 section 7.3). Swift's `==` normalizes: there a Kelvin sign
/// equals a K.
package func areIdentical(_ a: String?, _ b: String?) -> Bool {
    guard let a, let b else { return a == nil && b == nil }
    return a.utf8.elementsEqual(b.utf8)
}

/// The claims of a token (RFC 7519 section 4, OpenID Connect Core section 2), read one by one.
public struct JWTClaims: Sendable {
    /// All members.
    public let members: [String: JSONValue]

    /// The claims in a payload.
    ///
    /// - Throws: `jwt.malformed` when it is no JSON object or a known claim has a wrong type.
    public init(parsing payload: some Collection<UInt8>) throws(NacreError) {
        let value: JSONValue
        do { value = try JSONParser.parse(payload) } catch {
            throw NacreError("jwt.malformed", "The token's claims are not JSON.", cause: error)
        }
        guard let members = value.object else {
            throw NacreError("jwt.malformed", "The token's claims are not a JSON object.")
        }
        self.members = members
        for name in ["iss", "sub", "azp", "nonce", "at_hash", "acr", "sid", "jti"]
        where members[name] != nil && members[name]?.string == nil {
            throw Self.wrongType(name)
        }
        for name in ["exp", "nbf", "iat", "auth_time"] where members[name] != nil && instant(name) == nil {
            throw Self.wrongType(name)
        }
        for name in ["aud", "amr"] where members[name] != nil && strings(name) == nil { throw Self.wrongType(name) }
    }

    private static func wrongType(_ name: String) -> NacreError {
        NacreError("jwt.malformed", "The token's claim \"\(name)\" has the wrong type.")
    }

    private func instant(_ name: String) -> Instant? {
        // Up to the year 9999; a NumericDate may have a fraction (RFC 7519 section 2).
        let range: ClosedRange<Double> = 0...253_402_300_799
        switch members[name] {
        case .integer(let value): return range.contains(Double(value)) ? Instant(seconds: value) : nil
        case .number(let value): return range.contains(value) ? Instant(milliseconds: Int64(value * 1000)) : nil
        default: return nil
        }
    }

    private func strings(_ name: String) -> [String]? {
        switch members[name] {
        case .string(let text): return [text]
        case .array(let items):
            let texts = items.compactMap(\.string)
            return texts.count == items.count ? texts : nil
        default: return nil
        }
    }

    /// `iss`: who issued it.
    public var issuer: String? { members["iss"]?.string }
    /// `sub`: whom it is about.
    public var subject: String? { members["sub"]?.string }
    /// `aud`: for whom it is; one text or a list on the wire.
    public var audience: [String] { strings("aud") ?? [] }
    /// `azp`: the client it was issued to.
    public var authorizedParty: String? { members["azp"]?.string }
    /// `exp`: not to be accepted from then on.
    public var expiry: Instant? { instant("exp") }
    /// `nbf`: not to be accepted before.
    public var notBefore: Instant? { instant("nbf") }
    /// `iat`: when it was issued.
    public var issuedAt: Instant? { instant("iat") }
    /// `nonce`: ties an ID token to one request.
    public var nonce: String? { members["nonce"]?.string }
    /// `at_hash`: ties an ID token to an access token.
    public var accessTokenHash: String? { members["at_hash"]?.string }
    /// `acr`: the level of authentication reached.
    public var authenticationContext: String? { members["acr"]?.string }
    /// `amr`: the methods used.
    public var authenticationMethods: [String] { strings("amr") ?? [] }
    /// `auth_time`: when the person last proved who they are.
    public var authenticationTime: Instant? { instant("auth_time") }
    /// `sid`: the session at the provider.
    public var sessionID: String? { members["sid"]?.string }
    /// `jti`: the token's own name.
    public var tokenID: String? { members["jti"]?.string }
}
