// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacrePorts

/// Seals what an attempt must keep secret on disk, under a key that rests in the secret store.
struct AttemptSealer: Sendable {
    static let keyName = "sign-in.key"

    private let key: SealingKey
    private let random: any RandomSource

    /// The sealer of this device; makes the key when there is none.
    static func open(_ store: any SecretStore, random: any RandomSource) async throws(NacreError) -> AttemptSealer {
        if let bytes = try await store.read(keyName), let key = try? SealingKey(bytes) {
            return AttemptSealer(key: key, random: random)
        }
        let key = SealingKey(random: random)
        try await store.write(keyName, key.bytes)
        return AttemptSealer(key: key, random: random)
    }

    private init(key: SealingKey, random: any RandomSource) {
        self.key = key
        self.random = random
    }

    func seal(_ value: JSONValue, attempt id: String) throws(NacreError) -> [UInt8] {
        try key.seal(value.bytes, context: Array("attempt:\(id)".utf8), random: random)
    }

    /// Nil when it was sealed under a key that is gone.
    func open(_ box: [UInt8], attempt id: String) -> JSONValue? {
        guard let bytes = try? key.open(box, context: Array("attempt:\(id)".utf8)) else { return nil }
        return try? JSONParser.parse(bytes)
    }
}
