// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// One numbered step of a database schema, and the rules that all of them keep: versions count 1, 2, 3 …, and a step never
/// changes once it has been released.
package struct SchemaStep: Sendable {
    /// The version the tables have after this step.
    package let version: Int
    /// The statements, separated by semicolons.
    package let script: String

    /// A step to `version`.
    package init(_ version: Int, _ script: String) {
        self.version = version
        self.script = script
    }

    /// A sum over the script that shows an edit after release (FNV-1a; no protection against intent).
    package var checksum: String {
        var sum: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in script.utf8 { sum = (sum ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return String(sum, radix: 16)
    }

    /// Those of `steps` that are still to be taken, after `done` in the order of their versions.
    ///
    /// `place` is what a sentence calls the tables, `layer` the first word of the error's code.
    /// - Throws: `LAYER.migration_newer` when the tables were made by a newer program, `LAYER.migration_changed` when a
    ///   released step was edited.
    package static func remaining(
        _ steps: [SchemaStep], after done: [(version: Int, checksum: String?)], in place: String, layer: String
    ) throws(NacreError) -> ArraySlice<SchemaStep> {
        precondition(steps.map(\.version) == steps.indices.map { $0 + 1 }, "versions count 1, 2, 3 …")
        guard done.count <= steps.count else {  // guard: migration-newer
            throw NacreError(
                .init(rawValue: layer + ".migration_newer"),
                "\(place) have version \(done.count), this program knows \(steps.count); install the newer program.")
        }
        for (row, step) in zip(done, steps) {
            guard row.version == step.version, row.checksum == step.checksum else {  // guard: migration-changed
                throw NacreError(
                    .init(rawValue: layer + ".migration_changed"),
                    "Step \(step.version) of \(place) differs from the one that was taken; add a new step instead.")
            }
        }
        return steps.dropFirst(done.count)
    }
}
