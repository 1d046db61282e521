// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreCrypto
package import NacreReleases

/// Making keys, and the key sets that say which of them count.
package enum KeyCeremony {
    /// A variable and its value, for an environment file.
    package struct Line: Sendable {
        package let name: String
        package let value: String
        package var text: String { "\(name)=\(value)" }
    }

    /// The RSA pair of archives (UP-9). Takes up to a second: not on the cooperative pool.
    package static func archivePair() throws(NacreError) -> [Line] {
        let key = try PrivateKey.generateRSA2048()
        guard let privatePEM = key.pkcs1PEM, let publicPEM = key.publicKey.pkcs1PEM else {
            throw NacreError("crypto.generate", "Making an RSA key failed; try again.")
        }
        return [
            Line(name: PublisherKeys.archivePublicVariable, value: KeyText.line(publicPEM)),
            Line(name: PublisherKeys.archiveVariable, value: KeyText.line(privatePEM)),
        ]
    }

    /// Ed25519 pairs: a root that stays offline, a release key for the publishing job, a freshness key for the gateway.
    package static func signingPairs() throws(NacreError) -> [Line] {
        var lines: [Line] = []
        for (name, variable) in [
            (PublisherKeys.rootPublicVariable, PublisherKeys.rootsVariable),
            ("NACRE_OTA_RELEASE_PUBLIC_KEY", PublisherKeys.releaseVariable),
            ("NACRE_OTA_FRESHNESS_PUBLIC_KEY", PublisherKeys.freshnessVariable),
        ] {
            let key = try PrivateKey.generate(.edDSA)
            lines.append(Line(name: name, value: try KeyText.releaseKey(key).base64))
            lines.append(Line(name: variable, value: KeyText.line(key.pem)))
        }
        return lines
    }

    /// What the next key set is to say.
    package struct Wish: Sendable {
        package var app: String
        package var release: [ReleaseKey]
        package var freshness: [ReleaseKey] = []
        /// Of the new set; none keeps those of the one before, or takes those that sign.
        package var roots: [ReleaseKey] = []
        package var threshold: Int?
        package var lifetime = Duration.seconds(730 * 86_400)

        package init(app: String, release: [ReleaseKey]) { (self.app, self.release) = (app, release) }
    }

    /// The key set that follows `previous`, signed by what root keys are here. Where more of them are needed, `sign` adds
    /// theirs on their own machines.
    ///
    /// - Throws: `release.roots`, `ota.key_set`.
    package static func make(
        _ wish: Wish, after previous: ReleaseKeySet?, signedBy keys: [PrivateKey], now: Instant
    ) throws(NacreError) -> SignedEnvelope {
        guard !keys.isEmpty else {
            throw NacreError(
                "ota.key", "\(PublisherKeys.rootsVariable) is not set; a key set is signed by root keys.")
        }
        var signers: [ReleaseKey] = []
        for key in keys { signers.append(try KeyText.releaseKey(key)) }
        if let previous, previous.app != wish.app {
            throw NacreError(
                "ota.key_set", "The key set before this one is of the app \(previous.app), not of \(wish.app).")
        }
        let kept = wish.roots.isEmpty ? previous?.roots.keys ?? signers : wish.roots
        let roots = try RootKeys(
            kept, threshold: wish.threshold ?? (wish.roots.isEmpty ? previous?.roots.threshold : nil) ?? 1)
        guard !wish.release.isEmpty, Set(wish.release).isDisjoint(with: wish.freshness) else {
            throw NacreError(
                "ota.key_set",
                "A key set needs a release key, and a key that signs releases cannot be a freshness key too.")
        }
        let set = ReleaseKeySet(
            app: wish.app, epoch: (previous?.epoch ?? 0) + 1, issued: now, expires: now + wish.lifetime, roots: roots,
            release: wish.release, freshness: wish.freshness)
        return try SignedEnvelope(signing: set.bytes, for: .keySet, with: keys)
    }

    /// The same key set with more root keys' signatures.
    ///
    /// - Throws: `ota.key_set`, `ota.key`.
    package static func sign(
        _ envelope: SignedEnvelope, with keys: [PrivateKey]
    ) throws(NacreError) -> SignedEnvelope {
        _ = try ReleaseKeySet(bytes: envelope.payload)
        guard !keys.isEmpty else {
            throw NacreError("ota.key", "\(PublisherKeys.rootsVariable) is not set; a key set is signed by root keys.")
        }
        let more = try SignedEnvelope(signing: envelope.payload, for: .keySet, with: keys)
        let names = Set(more.signatures.map(\.key))
        let all = envelope.signatures.filter { !names.contains($0.key) } + more.signatures
        return try SignedEnvelope(payload: envelope.payload, signatures: all)
    }

    /// Reads a key set's file.
    ///
    /// - Throws: `ota.key_set`.
    package static func read(_ bytes: [UInt8]) throws(NacreError) -> (envelope: SignedEnvelope, set: ReleaseKeySet) {
        do throws(NacreError) {
            let envelope = try SignedEnvelope(try JSONParser.parse(bytes))
            return (envelope, try ReleaseKeySet(bytes: envelope.payload))
        } catch {
            throw NacreError("ota.key_set", "This is no key set as nacre ota keys make writes it.", cause: error)
        }
    }
}

extension SignedEnvelope {
    fileprivate init(payload: [UInt8], signatures: [Signature]) throws(NacreError) {
        let value: JSONValue = [
            "payload": .string(Base64.encode(payload)),
            "signatures": .array(
                signatures.map { ["key": .string($0.key), "alg": "Ed25519", "sig": .string(Base64.encode($0.bytes))] }),
        ]
        try self.init(value)
    }
}

extension ReleasePublisher {
    /// The newest key set of the channel, with what signed it.
    package func currentKeySet() async throws -> ReleaseKeySet? { try await state().keySet }

    /// Puts the next key set into the channel, once enough of the old and of the new roots have signed it.
    ///
    /// - Throws: `ota.key_set`.
    package func put(keySet envelope: SignedEnvelope) async throws -> ReleaseKeySet {
        let set = try ReleaseKeySet(bytes: envelope.payload)
        let current = try await state().keySet
        guard let roots else {
            throw Self.noRoots(
                "Apps take no key set that their root keys have not signed, and those are not known here.")
        }
        // As an app that has the current set, or only its roots, takes it.
        _ = try ReleaseKeySet(following: current, builtIn: roots, app: app, envelope: envelope)
        guard current != nil || set.epoch == 1 else {
            throw NacreError(
                "ota.key_set", "The channel \(channel) has no key set yet, and this is of epoch \(set.epoch), not 1.")
        }
        let key = ReleaseStore.keySet(channel, set.epoch)
        guard try await putOnce(key, .bytes(envelope.json.bytes)) else {
            throw NacreError(
                "ota.other_publisher", "Another key set of epoch \(set.epoch) is there already; look at it first.")
        }
        return set
    }
}
