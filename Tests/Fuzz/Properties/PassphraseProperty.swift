// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCrypto
import NacreSecrets

/// A passphrase file that is taken costs what we can afford, and opens with no key but its own.
enum PassphraseProperty {
    @Sendable static func check(_ bytes: [UInt8]) throws(Violation) -> Bool {
        guard let file = try? PassphraseFile(parsing: bytes) else { return false }
        try demand(file.salt.count == PassphraseKey.saltLength, "a salt of \(file.salt.count) bytes")
        try demand((1...64).contains(file.cost.passes), "\(file.cost.passes) passes")
        try demand((8192...(1 << 30)).contains(file.cost.memory), "\(file.cost.memory) bytes of memory")
        guard let key = try? SealingKey([UInt8](repeating: 7, count: SealingKey.length)) else {
            throw Violation("no key")
        }
        let opened: [String: [UInt8]]?
        do { opened = try file.open(with: key) } catch { throw Violation("another key: \(error)") }
        try demand(opened == nil, "opened by a key that is not its own")
        return true
    }
}
