// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
import NacreReleases

extension Updater {
    package func report() -> JSONValue {
        [
            "running": state.running.map(Self.facts) ?? [
                "version": .string(settings.builtInVersion), "builtIn": true,
                "sequence": settings.builtInSequence.map(JSONValue.integer) ?? .null,
            ],
            "trial": state.trial.map { ["attempts": JSONValue($0.attempts)] } ?? .null,
            "staged": state.staged.map(Self.facts) ?? .null, "fallback": state.fallback.map(Self.facts) ?? .null,
            "failed": .array(
                state.failed.map {
                    [
                        "version": .string($0.version), "sequence": .integer($0.sequence),
                        "reason": .string($0.reason.rawValue), "message": .string($0.reason.sentence),
                        "count": JSONValue($0.count),
                    ]
                }),
            "manifest": .string(state.manifestURL), "checked": .integer(state.checked.milliseconds),
            "decisions": .array(
                state.decisions.map {
                    [
                        "at": .integer($0.at.milliseconds), "what": .string($0.what), "version": .string($0.version),
                        "why": .string($0.why),
                    ]
                }),
        ]
    }

    private static func facts(_ bundle: InstalledBundle) -> JSONValue {
        [
            "version": .string(bundle.version), "builtIn": false, "stamp": .string(bundle.stamp),
            "channel": .string(bundle.channel), "sequence": bundle.sequence.map(JSONValue.integer) ?? .null,
            "tree": .string(bundle.tree.description), "storageEpoch": .integer(bundle.storageEpoch),
        ]
    }
}
