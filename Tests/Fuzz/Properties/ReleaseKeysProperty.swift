// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreReleases

/// A key set is taken with the roots' signatures only, has one form, and nobody in it has two roles.
enum ReleaseKeySetProperty {
    @Sendable static func check(_ bytes: [UInt8]) throws(Violation) -> Bool {
        let both = [ReleaseKeys.root, ReleaseKeys.otherRoot]
        guard let set = take(bytes, both) else {
            try demand(take(bytes, [ReleaseKeys.root]) == nil, "one signature is more than two")
            return false
        }
        try demand(set.app == ReleaseKeys.app, "another app's")
        try demand((1...1_000_000).contains(set.epoch), "epoch \(set.epoch)")
        try demand(!set.release.isEmpty && set.release.count <= 16 && set.freshness.count <= 16, "keys without number")
        try demand(Set(set.release).isDisjoint(with: set.freshness), "a key with two roles")
        try demand((1...set.roots.keys.count).contains(set.roots.threshold), "threshold \(set.roots.threshold)")
        try demand(Set(set.roots.keys).count == set.roots.keys.count, "a root twice")
        guard let again = take(set.bytes, both) else { throw Violation("not read again") }
        try demand(again == set && again.bytes == set.bytes, "another set when read again")
        // As many of its own roots have signed as it asks for; the built-in one is among those that have.
        let known = Set(both.map(ReleaseKeys.key))
        try demand(known.intersection(set.roots.keys).count >= set.roots.threshold, "taken with too few of its roots")
        try demand(take(bytes, [ReleaseKeys.otherRoot]) == nil, "taken without the root in the app")
        try demand(take(bytes, [ReleaseKeys.release]) == nil, "taken from a release key")
        let next = take(bytes, both, following: ReleaseKeys.set)
        try demand((next != nil) == (set.epoch == 2), "epoch \(set.epoch) after 1")
        return true
    }

    private static func take(
        _ bytes: [UInt8], _ signers: [PrivateKey], following current: ReleaseKeySet? = nil
    ) -> ReleaseKeySet? {
        let envelope = ReleaseKeys.made { () throws(NacreError) in
            try SignedEnvelope(signing: bytes, for: .keySet, with: signers)
        }
        return try? ReleaseKeySet(
            following: current, builtIn: ReleaseKeys.roots, app: ReleaseKeys.app, envelope: envelope)
    }
}

/// A freshness statement counts with a freshness key's signature only, and has one form.
enum FreshnessProperty {
    @Sendable static func check(_ bytes: [UInt8]) throws(Violation) -> Bool {
        for signer in [ReleaseKeys.release, ReleaseKeys.root] {
            try demand(statement(bytes, signer) == nil, "counts from another key")
        }
        guard let statement = statement(bytes, ReleaseKeys.freshness) else { return false }
        for text in [statement.app, statement.channel] {
            try demand(!text.isEmpty && isPlain(text, upTo: 200), "name \(text)")
        }
        try demand((0..<1 << 53).contains(statement.sequence), "sequence \(statement.sequence)")
        try demand((0..<1 << 53).contains(statement.expires.milliseconds), "expires \(statement.expires)")
        let again = self.statement(statement.bytes, ReleaseKeys.freshness)
        try demand(again == statement && again?.bytes == statement.bytes, "another statement when read again")
        return true
    }

    private static func statement(_ bytes: [UInt8], _ signer: PrivateKey) -> FreshnessStatement? {
        let envelope = ReleaseKeys.made { () throws(NacreError) in
            try SignedEnvelope(signing: bytes, for: .freshness, with: [signer])
        }
        return try? FreshnessStatement(envelope, keys: ReleaseKeys.set)
    }
}
