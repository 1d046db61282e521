// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacrePublisher

/// What `nacre ota` says to a person.
enum OtaText {
    static let pairGuidance = """
        A pair for the bundles of one installation. Both halves come from this run; with any other partner every app refuses
        the bundle. The public half goes into the build of the app (updates.publicKey in nacre.json, or the variable), the
        private half into a secret of the publishing job. Whoever has it can publish; who loses it needs a store release.
        """

    static let rootsGuidance = """
        Three Ed25519 pairs. The public root key goes into the app (updates.rootKeys in nacre.json); keep the private one
        offline: it only signs key sets (nacre ota keys make). The private release key goes into a secret of the publishing
        job, the private freshness key to the gateway. With root keys, the app takes nothing that is not signed in full.
        """

    static func outcome(_ outcome: PublishOutcome) -> String {
        let sequence = outcome.sequence.map { " (sequence \($0))" } ?? ""
        var lines: [String] = []
        switch outcome.what {
        case .announced: lines.append("announced: version \(outcome.version)\(sequence)")
        case .staged: lines.append("staged: version \(outcome.version)\(sequence); announce it with: nacre ota promote")
        case .unchanged: lines.append("unchanged: the channel is at version \(outcome.version)\(sequence) already")
        }
        lines.append("manifest: \(outcome.manifestURL)")
        if let tree = outcome.tree { lines.append("tree: \(tree)") }
        if let bytes = outcome.archive { lines.append("bundle: \(size(bytes))") }
        if let count = outcome.newObjects { lines.append("new files: \(count)") }
        for patch in outcome.patches {
            let share = outcome.archive.map { " (\(tenths(patch.bytes, of: $0)) % of the bundle)" } ?? ""
            lines.append("patch from \(patch.from): \(size(patch.bytes))\(share)")
        }
        return lines.joined(separator: "\n")
    }

    static func ways(_ ways: [VerifiedWay]) -> String {
        ways.map { way in
            let bytes = way.bytes.map { ", \(size($0))" } ?? ""
            return way.fault.map { "FAULT  \(way.what)\(bytes): \($0)" } ?? "ok     \(way.what)\(bytes)"
        }.joined(separator: "\n")
    }

    static func inspection(_ value: JSONValue) -> String {
        let members = value.object ?? [:]
        let order = [
            "app", "channel", "bucket", "manifest", "version", "sequence", "publishedAt", "signed", "expires", "tree",
            "files",
            "bytes", "archiveBytes", "rollout", "rollbackOf", "patches", "revoked", "staged", "keySet", "keySetFault",
        ]
        var lines = order.compactMap { key -> String? in
            guard let member = members[key], !member.isNull else { return nil }
            return "\(key): \(member.string ?? member.text)"
        }
        for release in members["releases"]?.array ?? [] {
            lines.append(
                "release \(release["version"]?.string ?? "?"): sequence \(release["sequence"]?.text ?? "?"), "
                    + "\(release["publishedAt"]?.string ?? "")")
        }
        return lines.joined(separator: "\n")
    }

    private static func size(_ bytes: Int) -> String {
        bytes < 10_000 ? "\(bytes) bytes" : bytes < 10_000_000 ? "\(bytes / 1000) kB" : "\(bytes / 1_000_000) MB"
    }

    private static func tenths(_ part: Int, of whole: Int) -> String {
        let tenths = whole > 0 ? part * 1000 / whole : 0
        return "\(tenths / 10).\(tenths % 10)"
    }
}
