// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreReleases

/// A payload that is read has one form when written, keeps its ranges, and is offered to a device only by the rules of UP-4,
/// which are read here a second time from the JSON itself.
enum ReleasePayloadProperty {
    @Sendable static func check(_ bytes: [UInt8]) throws(Violation) -> Bool {
        guard let payload = try? ReleasePayload(bytes: bytes) else {
            try demand((try? judged(bytes, version: "1.4.2", sequence: 7)) == nil, "offers what it cannot read")
            return false
        }
        let whole: ClosedRange<Int64> = 0...(1 << 53 - 1)
        try demand(payload.sequence > 0 && whole.contains(payload.sequence), "sequence \(payload.sequence)")
        for number in [payload.keyEpoch, payload.storageEpoch, payload.rollbackOf ?? 0] {
            try demand(whole.contains(number), "number \(number)")
        }
        for size in [payload.tree.files, payload.tree.bytes, payload.tree.listBytes, payload.archive.size] {
            try demand(whole.contains(Int64(size)), "size \(size)")
        }
        for moment in [payload.issued, payload.expires] {
            try demand(whole.contains(moment.milliseconds), "moment \(moment)")
        }
        try demand(
            ReleaseStore.isName(payload.version) && ReleaseStore.isName(payload.channel), "a name that is a path")
        try demand((0...10_000).contains(payload.rollout.basisPoints), "rollout \(payload.rollout.basisPoints)")
        let written = payload.bytes
        guard let again = try? ReleasePayload(bytes: written) else { throw Violation("not read again") }
        try demand(again == payload, "another payload when read again")
        try demand(again.bytes == written, "other bytes when written again")
        guard let offer = try? judged(bytes, version: payload.version, sequence: payload.sequence) else { return true }
        try demand(offer.payload == payload, "offers another payload")
        try offered(bytes)
        return true
    }

    private static func judged(
        _ bytes: [UInt8], version: String, sequence: Int64
    ) throws(ReleaseRefusal) -> ReleaseOffer {
        let manifest = ReleaseManifest(
            version: version, url: "https://b.example/x.zip", seal: SourceSystemSeal(sessionKey: "", checksum: ""),
            sequence: sequence, publishedAt: nil,
            envelope: ReleaseKeys.made { () throws(NacreError) in
                try SignedEnvelope(signing: bytes, for: .release, with: [ReleaseKeys.release])
            })
        return try ReleaseKeys.device().judge(manifest.bytes, from: ReleaseKeys.manifestURL)
    }

    /// UP-4 for the device of `ReleaseKeys`, word by word.
    private static func offered(_ bytes: [UInt8]) throws(Violation) {
        guard let value = try? JSONParser.parse(bytes) else { throw Violation("offers what is no JSON") }
        let tree = value["tree"]?["sha256"]?.string
        let revoked = (value["revoked"]?.array ?? []).map(\.string)
        try demand(value["spec"]?.integer == 1, "offers one of later days")
        try demand(value["app"]?.string == ReleaseKeys.app, "offers another app's")
        try demand(value["channel"]?.string == ReleaseKeys.channel, "offers another channel's")
        let platforms = (value["platforms"]?.array ?? []).map(\.string)
        try demand(platforms.isEmpty || platforms.contains("linux"), "offers another platform's")
        try demand(value["keyEpoch"]?.integer == 1, "offers one of another epoch")
        try demand((value["expires"]?.integer ?? 0) > ReleaseKeys.now.milliseconds, "offers an expired one")
        try demand((value["sequence"]?.integer ?? 0) >= 6, "offers an old one")
        try demand(!revoked.contains(tree), "offers a withdrawn one")
        try demand(tree != ReleaseKeys.digest("running").description, "offers what runs")
        try demand(
            tree != ReleaseKeys.digest("failed").description || (value["sequence"]?.integer ?? 0) > 7,
            "offers what failed")
        let isUrgent = revoked.contains(ReleaseKeys.digest("running").description)
        let share = value["rollout"]?["basisPoints"]?.integer ?? 0
        try demand(isUrgent || share > 4999, "offers before its turn")
        let room = (value["tree"]?["bytes"]?.integer ?? 0) + (value["archive"]?["size"]?.integer ?? 0)
        try demand(room < 1 << 40, "offers what has no room")
        let native = [
            value["native"]?["min"]?.string ?? "0", "1.2.0", value["native"]?["below"]?.string ?? "999999999",
        ]
        let numbers = native.map(NativeVersionProperty.numbers)
        try demand(
            !numbers[1].lexicographicallyPrecedes(numbers[0]) && numbers[1].lexicographicallyPrecedes(numbers[2]),
            "offers what does not run here")
    }
}
