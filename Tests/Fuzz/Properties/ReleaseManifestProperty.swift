// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreReleases

/// A manifest that is read comes back through its own bytes, and a device with keys follows none that nobody signed.
enum ReleaseManifestProperty {
    @Sendable static func check(_ bytes: [UInt8]) throws(Violation) -> Bool {
        let signed = try? ReleaseKeys.device().judge(bytes, from: ReleaseKeys.manifestURL)
        let plain = try? ReleaseKeys.device(signed: false).judge(bytes, from: ReleaseKeys.manifestURL)
        guard let manifest = try? ReleaseManifest(bytes: bytes) else {
            try demand(signed == nil && plain == nil, "follows what is no manifest")
            return false
        }
        try demand(bytes.count <= ReleaseManifest.maximumBytes, "\(bytes.count) bytes")
        try demand(!manifest.version.isEmpty && isPlain(manifest.version, upTo: 100), "version \(manifest.version)")
        try demand(!manifest.url.isEmpty && isPlain(manifest.url, upTo: 2048), "url \(manifest.url)")
        try demand(isPlain(manifest.seal.checksum, upTo: 1000), "checksum")
        try demand(isPlain(manifest.seal.sessionKey, upTo: 1000), "sessionKey")
        try demand((0..<1 << 53).contains(manifest.sequence ?? 0), "sequence \(manifest.sequence ?? 0)")
        let written = manifest.bytes
        guard let again = try? ReleaseManifest(bytes: written) else { throw Violation("not read again") }
        try demand(again == manifest, "another manifest when read again")
        try demand(again.bytes == written, "other bytes when written again")
        let blanks = [UInt8](repeating: 0x20, count: ReleaseManifest.maximumBytes + 1 - bytes.count)
        try demand((try? ReleaseManifest(bytes: bytes + blanks)) == nil, "takes a manifest of one byte too many")
        if let signed { try follows(signed, manifest) }
        if let plain {
            try demand(plain.payload == nil && !plain.isVerified, "says that it verified without keys")
            try demand(!manifest.seal.checksum.isEmpty && !manifest.seal.sessionKey.isEmpty, "half a seal is enough")
            try demand(manifest.url.hasPrefix("https://"), "follows to \(manifest.url)")
        }
        return true
    }

    /// The fuzzer cannot sign: what is followed carries a payload that the release key of the corpus has signed.
    private static func follows(_ offer: ReleaseOffer, _ manifest: ReleaseManifest) throws(Violation) {
        guard let payload = offer.payload, let envelope = manifest.envelope else {
            throw Violation("follows an unsigned manifest")
        }
        let message = Array("nacre release 1\n".utf8) + envelope.payload
        let isSigned = envelope.signatures.contains {
            ReleaseKeys.release.publicKey.isValid($0.bytes, for: message)
        }
        try demand(isSigned, "follows what nobody signed")
        try demand(manifest.url.hasPrefix("https://"), "follows to \(manifest.url)")
        try demand(
            payload.version == manifest.version && payload.sequence == manifest.sequence, "two stories in one manifest")
    }
}

/// An envelope has one form, and a signature counts for its purpose and its bytes alone.
enum ReleaseEnvelopeProperty {
    private static let keys = [ReleaseKeys.release, ReleaseKeys.root, ReleaseKeys.freshness]
    private static let purposes: [SignedEnvelope.Purpose] = [.release, .keySet, .freshness]

    @Sendable static func check(_ bytes: [UInt8]) throws(Violation) -> Bool {
        try signs(bytes)
        guard let value = try? JSONParser.parse(bytes), let envelope = try? SignedEnvelope(value) else { return false }
        try demand((1...16).contains(envelope.signatures.count), "\(envelope.signatures.count) signatures")
        guard let again = try? SignedEnvelope(envelope.json) else { throw Violation("not read again") }
        try demand(again == envelope, "another envelope when read again")
        for purpose in purposes {
            let message = Array(purpose.rawValue.utf8) + envelope.payload
            for key in envelope.signers(among: keys.map(ReleaseKeys.key), for: purpose) {
                let isSigned = envelope.signatures.contains {
                    $0.key == key.name && $0.algorithm == "Ed25519"
                        && publicKey(key).isValid($0.bytes, for: message)
                }
                try demand(isSigned, "counts a signature that is none")
            }
        }
        return true
    }

    private static func publicKey(_ key: ReleaseKey) -> PublicKey {
        ReleaseKeys.made { () throws(NacreError) in try PublicKey(.ed25519(key.bytes)) }
    }

    /// Any payload, signed, counts for its purpose, its key and its bytes, and for nothing else.
    private static func signs(_ payload: [UInt8]) throws(Violation) {
        let all = keys.map(ReleaseKeys.key)
        guard let envelope = try? SignedEnvelope(signing: payload, for: .keySet, with: [keys[1]]),
            let read = try? SignedEnvelope(envelope.json)
        else { throw Violation("not signed, or not read") }
        try demand(read == envelope && read.payload == payload, "another payload")
        try demand(read.signers(among: all, for: .keySet) == [all[1]], "not by its key")
        for purpose in purposes where purpose != .keySet {
            try demand(read.signers(among: all, for: purpose).isEmpty, "counts for another purpose")
        }
        let members = read.json.object ?? [:]
        let longer = JSONValue.string(Base64.encode(payload + [0]))
        guard let changed = try? SignedEnvelope(.object(members.merging(["payload": longer]) { _, new in new })) else {
            throw Violation("a changed payload is damage")
        }
        try demand(changed.signers(among: all, for: .keySet).isEmpty, "counts for other bytes")
    }
}
