// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore
public import NacreCrypto

/// What the protected header of a token says (RFC 7515 section 4). Members that point to other keys (`jku`, `jwk`,
/// `x5u`, `x5c`) are never followed.
public struct JWSHeader: Sendable {
    /// The algorithm as claimed: only compared, never obeyed.
    public let algorithm: String
    /// The name of the signing key.
    public let keyID: String?
    /// The media type, such as `JWT` or `logout+jwt`.
    public let type: String?

    init(parsing bytes: [UInt8]) throws(NacreError) {
        let value: JSONValue
        do { value = try JSONParser.parse(bytes) } catch {
            throw NacreError("jose.malformed", "The token's header is not JSON.", cause: error)
        }
        guard let algorithm = value["alg"]?.string else {
            throw NacreError("jose.malformed", "The token's header has no \"alg\".")
        }
        guard value["crit"] == nil, value["b64"] == nil else {  // guard: jose-crit
            throw NacreError("jose.critical", "The token's header demands an extension that is not understood.")
        }
        for name in ["kid", "typ"] where value[name] != nil && value[name]?.string == nil {
            throw NacreError("jose.malformed", "The token's header member \"\(name)\" must be a string.")
        }
        self.algorithm = algorithm
        keyID = value["kid"]?.string
        type = value["typ"]?.string
    }
}

/// What a token may be verified with. The case decides the algorithm; the token's header must agree.
public enum JWSVerificationKey: Sendable {
    /// ES256, RS256 or EdDSA, by the kind of key.
    case publicKey(PublicKey)
    /// HS256 with a shared secret of at least 32 bytes: only where a configuration asks for it.
    case sharedSecret([UInt8])

    var algorithm: String {
        switch self {
        case .publicKey(let key): key.algorithm.rawValue
        case .sharedSecret: "HS256"
        }
    }
}

/// A signed token in compact form (RFC 7515 section 7.1), split and decoded but not yet verified.
public struct JWS: Sendable {
    /// Longer tokens are refused unread.
    public static let maximumLength = 16 * 1024

    /// The header.
    public let header: JWSHeader
    private let payload: [UInt8]
    private let signature: [UInt8]
    private let signedText: [UInt8]

    static let wrongAlgorithm = NacreError(
        "jose.algorithm", "The token is signed by an algorithm that its key does not have.")

    /// Splits a compact token.
    ///
    /// - Throws: `jose.malformed`, `jose.critical`.
    public init(parsing token: some StringProtocol) throws(NacreError) {
        let malformed = NacreError("jose.malformed", "This is not a signed token in compact form.")
        guard token.utf8.count <= Self.maximumLength else { throw malformed }  // guard: jose-length
        let parts = Array(token.utf8).split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3,
            let head = Base64URL.decode(String(decoding: parts[0], as: UTF8.self)),
            let payload = Base64URL.decode(String(decoding: parts[1], as: UTF8.self)),
            let signature = Base64URL.decode(String(decoding: parts[2], as: UTF8.self))
        else { throw malformed }
        header = try JWSHeader(parsing: head)
        self.payload = payload
        self.signature = signature
        signedText = Array(parts[0]) + [UInt8(ascii: ".")] + parts[1]
    }

    /// The payload, once `key` has verified it.
    ///
    /// - Throws: `jose.algorithm` when the header claims an algorithm other than the key's (`none` always is),
    ///   `jose.signature` when the signature is not the key's.
    public func verifiedPayload(with key: JWSVerificationKey) throws(NacreError) -> [UInt8] {
        guard header.algorithm == key.algorithm else { throw Self.wrongAlgorithm }  // guard: jose-algorithm
        let isValid =
            switch key {
            case .publicKey(let key): key.isValid(signature, for: signedText)
            case .sharedSecret(let secret):
                secret.count >= 32 && HMACSHA256.isValid(signature, for: signedText, key: secret)
            }
        guard isValid else {  // guard: jose-signature
            throw NacreError("jose.signature", "The token's signature is not valid.")
        }
        return payload
    }

    /// The payload without any check. Only to find out which key or client a token may belong to.
    package var unverifiedPayload: [UInt8] { payload }

    /// A compact token over `payload`.
    ///
    /// - Throws: `crypto.sign`.
    public static func sign(
        _ payload: some Collection<UInt8>, with key: PrivateKey, keyID: String?, type: String = "JWT"
    ) throws(NacreError) -> String {
        var members: [String: JSONValue] = ["alg": .string(key.algorithm.rawValue), "typ": .string(type)]
        members["kid"] = keyID.map(JSONValue.string)
        let text = Base64URL.encode(JSONValue.object(members).bytes) + "." + Base64URL.encode(payload)
        return text + "." + Base64URL.encode(try key.signature(of: text.utf8))
    }

    /// A compact token over these claims.
    ///
    /// - Throws: `crypto.sign`.
    public static func sign(
        _ claims: JSONValue, with key: PrivateKey, keyID: String?, type: String = "JWT"
    ) throws(NacreError) -> String {
        try sign(claims.bytes, with: key, keyID: keyID, type: type)
    }
}
