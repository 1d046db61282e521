// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
package import NacreCrypto
package import NacreReleases

extension ReleasePublisher {
    /// A short-lived word that what the channel announces is still the newest, for the gateway to pass on.
    ///
    /// - Throws: `ota.nothing_published`, `ota.foreign`; `ota.key_set` when the key is no freshness key of the channel.
    package func freshness(signedBy key: PrivateKey, for lifetime: Duration) async throws -> SignedEnvelope {
        let state = try await state()
        guard let manifest = state.manifest else {
            throw NacreError("ota.nothing_published", "Nothing is published on the channel \(channel).")
        }
        // Whoever can write into the bucket must not get a word for it.
        guard let payload = state.signedToday(manifest), let envelope = manifest.envelope else {
            throw NacreError(
                "ota.foreign",
                "The channel's manifest was not signed by a release key of the channel for the app \(app).")
        }
        let half = try KeyText.releaseKey(key)
        let set = state.keySet.flatMap { $0.epoch == payload.keyEpoch ? $0 : nil }
        guard let set, set.freshness.contains(half) else {  // guard: freshness-key
            throw NacreError(
                "ota.key_set",
                "The freshness key \(half.name) is not in the key set that the channel's release is signed under.")
        }
        let word = FreshnessStatement(
            app: app, channel: channel, release: TreeDigest(of: envelope.payload), sequence: payload.sequence,
            expires: time.now + lifetime)
        return try SignedEnvelope(signing: word.bytes, for: .freshness, with: [key])
    }
}
