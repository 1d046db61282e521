// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreReleases

/// What to publish, and for whom.
package struct PublishRequest: Sendable {
    package var folder: String
    package var version: String
    /// Platforms it is for; none for all.
    package var platforms: [String] = []
    package var native = NativeRange.any
    /// Of the build, for the version report (UP-11).
    package var stamp: String?
    package var storageEpoch: Int64 = 0
    package var resetsStorage = false
    package var rollout = ReleasePayload.Rollout()
    /// Not installed after so long.
    package var lifetime = Duration.seconds(365 * 86_400)
    /// Trees that store builds have built in.
    package var builtIns: [String] = []
    /// Patches from so many releases before.
    package var previous = 3
    package var effort = TreePatch.Effort.thorough
    /// Puts everything but the manifest; `promote` announces it.
    package var stagesOnly = false
    /// Publishes a version that is below the channel's.
    package var force = false

    package init(folder: String, version: String) { (self.folder, self.version) = (folder, version) }
}

/// What came of a publication.
package struct PublishOutcome: Sendable, Equatable {
    package enum What: String, Sendable {
        case announced, staged
        /// The channel was there already.
        case unchanged
    }
    package var what: What
    package var version: String
    package var sequence: Int64?
    package var tree: TreeDigest?
    package var manifestURL: String
    /// Bytes of the archive, and of each patch by what it starts from.
    package var archive: Int?
    package var patches: [Patch] = []
    /// Files that were not in the store before.
    package var newObjects: Int?

    package struct Patch: Sendable, Equatable {
        package var from: String
        package var bytes: Int
    }

    /// For programs.
    package var json: JSONValue {
        [
            "result": .string(what.rawValue), "version": .string(version),
            "sequence": sequence.map(JSONValue.integer) ?? .null, "tree": JSONValue(tree?.description),
            "manifest": .string(manifestURL), "archiveBytes": archive.map { JSONValue($0) } ?? .null,
            "patches": .array(patches.map { ["from": .string($0.from), "bytes": JSONValue($0.bytes)] }),
            "newObjects": newObjects.map { JSONValue($0) } ?? .null,
        ]
    }
}
