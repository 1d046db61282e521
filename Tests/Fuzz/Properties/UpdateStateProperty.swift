// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreReleases
import NacreUpdates

/// What is read of the updater's state comes back through its own file, holds no number that a sum could overflow, and is believed
/// under its own digest alone.
enum UpdateStateProperty {
    /// The text behind the digest.
    @Sendable static func check(_ bytes: [UInt8]) throws(Violation) -> Bool {
        let digest = Array(TreeDigest(of: bytes).description.utf8)
        let file = digest + [0x0A] + bytes
        if UpdateStateFile.rewritten(bytes) != nil {
            let behind = Array(bytes.dropFirst(65))
            try demand(
                bytes.starts(with: TreeDigest(of: behind).description.utf8), "believes a file without its digest")
        }
        guard let written = UpdateStateFile.rewritten(file) else { return false }
        try demand(UpdateStateFile.rewritten(written) == written, "another state when read again")
        guard let value = try? JSONParser.parse(Array(written.dropFirst(65))) else { throw Violation("no JSON") }
        try demand(numbers(in: value).allSatisfy { (0..<1 << 53).contains($0) }, "a number out of range")
        try demand(value["trial"]?.isNull != false || value["running"]?.isNull == false, "a trial of nothing")
        var damaged = file
        let place = fingerprint(bytes) % file.count
        damaged[place] ^= UInt8(1 << (place % 8))
        try demand(UpdateStateFile.rewritten(damaged) == nil, "believed although byte \(place) was changed")
        return true
    }

    private static func numbers(in value: JSONValue) -> [Int64] {
        if let number = value.integer { return [number] }
        return (value.array ?? []).flatMap(numbers) + (value.object ?? [:]).values.flatMap(numbers)
    }
}
