// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// What must hold for any bytes at all. The fuzzer looks for bytes that break it; the corpus keeps those that once did.
package struct Property: Sendable {
    /// The name of its corpus folder.
    package let name: String
    /// Whether the parser took the bytes. A broken rule is thrown; a trap of the parser is left to end the process.
    package let check: @Sendable ([UInt8]) throws(Violation) -> Bool

    init(_ name: String, _ check: @escaping @Sendable ([UInt8]) throws(Violation) -> Bool) {
        self.name = name
        self.check = check
    }

    /// Every property, in the order in which they run.
    package static let all = [
        Property("request-head", RequestHeadProperty.check), Property("chunked", ChunkedProperty.check),
        Property("upstream-head", UpstreamHeadProperty.check), Property("jws", JWSProperty.check),
        Property("signing", SigningProperty.check), Property("jwks", KeySetProperty.check),
        Property("claims", ClaimsProperty.check), Property("json", JSONProperty.check),
        Property("cookie", CookieProperty.check), Property("deep-link", DeepLinkProperty.check),
        Property("web-url", WebURLProperty.check), Property("form-fields", FormFieldsProperty.check),
        Property("bridge", BridgeProperty.check), Property("passphrase", PassphraseProperty.check),
        Property("script", ScriptProperty.check), Property("tar", TarProperty.check),
        Property("release-manifest", ReleaseManifestProperty.check),
        Property("release-envelope", ReleaseEnvelopeProperty.check),
        Property("release-payload", ReleasePayloadProperty.check),
        Property("release-keys", ReleaseKeySetProperty.check),
        Property("release-freshness", FreshnessProperty.check), Property("release-list", ReleaseListProperty.check),
        Property("release-path", ReleasePathProperty.check), Property("native-version", NativeVersionProperty.check),
        Property("archive", ArchiveProperty.check), Property("inflate", InflateProperty.check),
        Property("tree-patch", TreePatchProperty.check),
        Property("tree-stream", TreeStreamProperty.check), Property("seal", SealProperty.check),
        Property("sealed-bundle", SealedBundleProperty.check), Property("packed-file", PackedFileProperty.check),
        Property("update-state", UpdateStateProperty.check),
    ]
}

/// A rule that some bytes broke.
package struct Violation: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

/// Throws unless `condition` holds.
func demand(_ condition: Bool, _ rule: @autoclosure () -> String) throws(Violation) {
    if !condition { throw Violation(rule()) }
}

/// A number that depends on nothing but the bytes, so that a finding comes back the same (FNV-1a).
func fingerprint(_ bytes: [UInt8]) -> Int {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    return Int(hash >> 2)
}
