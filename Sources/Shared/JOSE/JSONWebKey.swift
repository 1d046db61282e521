// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore
public import NacreCrypto

/// A public key with its names, as a JSON Web Key (RFC 7517) writes it.
public struct JSONWebKey: Sendable {
    /// The key's identifier inside its set, where it has one.
    public let id: String?
    /// The key itself.
    public let key: PublicKey

    /// A key under this identifier; without one, its thumbprint serves.
    public init(_ key: PublicKey, id: String? = nil) {
        self.key = key
        self.id = id ?? Self.thumbprint(of: key)
    }

    /// The public half that `value` describes. Private members, where there are any, are not looked at.
    ///
    /// - Throws: `jwk.unsupported` for kinds, curves, uses and algorithms that are not ours, `jwk.malformed` otherwise.
    public init(_ value: JSONValue) throws(NacreError) {
        func bytes(_ name: String) throws(NacreError) -> [UInt8] {
            guard let text = value[name]?.string, let bytes = Base64URL.decode(text), !bytes.isEmpty else {
                throw NacreError("jwk.malformed", "The key's member \"\(name)\" is missing or not base64url.")
            }
            return bytes
        }
        func unsupported(_ what: String) -> NacreError {
            NacreError("jwk.unsupported", "The key has \(what) that is not used here.")
        }
        let components: PublicKeyComponents
        switch (value["kty"]?.string, value["crv"]?.string) {
        case ("EC", "P-256"): components = .p256(x: try bytes("x"), y: try bytes("y"))
        case ("OKP", "Ed25519"): components = .ed25519(try bytes("x"))
        case ("RSA", _): components = .rsa(modulus: try bytes("n"), exponent: try bytes("e"))
        default: throw unsupported("a kind or curve")
        }
        if let use = value["use"], use != "sig" { throw unsupported("a use") }
        if let operations = value["key_ops"]?.array, !operations.contains("verify") { throw unsupported("operations") }
        key = try PublicKey(components)
        if let algorithm = value["alg"], algorithm != .string(key.algorithm.rawValue) {
            throw unsupported("an algorithm")
        }
        if let id = value["kid"], id.string == nil {
            throw NacreError("jwk.malformed", "The key's \"kid\" must be a string.")
        }
        id = value["kid"]?.string
    }

    /// The key as JSON, for a published set.
    public var json: JSONValue {
        var members = Self.required(of: key)
        members["kid"] = id.map(JSONValue.string)
        members["alg"] = .string(key.algorithm.rawValue)
        members["use"] = "sig"
        return .object(members)
    }

    /// The key's SHA-256 thumbprint (RFC 7638), base64url.
    public static func thumbprint(of key: PublicKey) -> String {
        // Our JSON text is compact with sorted keys: exactly the form the RFC hashes.
        Base64URL.encode(SHA256.hash(JSONValue.object(required(of: key)).bytes))
    }

    private static func required(of key: PublicKey) -> [String: JSONValue] {
        switch key.components {
        case .p256(let x, let y):
            ["kty": "EC", "crv": "P-256", "x": .string(Base64URL.encode(x)), "y": .string(Base64URL.encode(y))]
        case .rsa(let modulus, let exponent):
            ["kty": "RSA", "n": .string(Base64URL.encode(modulus)), "e": .string(Base64URL.encode(exponent))]
        case .ed25519(let x): ["kty": "OKP", "crv": "Ed25519", "x": .string(Base64URL.encode(x))]
        }
    }
}

/// Public keys of one issuer (RFC 7517 section 5).
public struct JSONWebKeySet: Sendable {
    /// More keys than this are not read.
    public static let maximumCount = 100

    /// The keys in order, without those this toolkit cannot use.
    public let keys: [JSONWebKey]

    /// A set of these keys.
    public init(_ keys: [JSONWebKey]) { self.keys = keys }

    /// The set in a JSON text. Keys of unknown kinds are skipped, as the RFC asks.
    ///
    /// - Throws: `jwks.malformed` when it is no key set.
    public init(parsing bytes: some Collection<UInt8>) throws(NacreError) {
        let value: JSONValue
        do { value = try JSONParser.parse(bytes) } catch {
            throw NacreError("jwks.malformed", "The key set is not JSON.", cause: error)
        }
        guard let items = value["keys"]?.array, items.count <= Self.maximumCount else {
            throw NacreError("jwks.malformed", "The key set has no list \"keys\" of at most \(Self.maximumCount) keys.")
        }
        keys = items.compactMap { try? JSONWebKey($0) }
    }

    /// The set as JSON.
    public var json: JSONValue { ["keys": .array(keys.map(\.json))] }

    /// The key for a header: by `kid` where it names one, else the only key of that algorithm.
    ///
    /// - Throws: `jose.algorithm` when the named key has another algorithm, `jose.ambiguous_key` when no `kid` chooses.
    package func key(for header: JWSHeader) throws(NacreError) -> PublicKey? {
        guard let id = header.keyID else {
            let candidates = keys.filter { $0.key.algorithm.rawValue == header.algorithm }
            guard candidates.count < 2 else {
                throw NacreError("jose.ambiguous_key", "The token names no key although the issuer has several.")
            }
            return candidates.first?.key
        }
        let named = keys.filter { areIdentical($0.id, id) }
        guard !named.isEmpty else { return nil }
        guard let match = named.first(where: { $0.key.algorithm.rawValue == header.algorithm }) else {
            throw JWS.wrongAlgorithm
        }
        return match.key
    }
}
