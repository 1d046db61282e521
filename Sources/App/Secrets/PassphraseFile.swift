// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreCrypto

/// The file of a `PassphraseFileStore`: one JSON object with the salt, the cost, and all secrets in one sealed box.
package struct PassphraseFile {
    package let salt: [UInt8]
    package let cost: PasswordCost
    let box: [UInt8]

    /// Bound into the box, so that nothing of the head can be exchanged.
    static func context(salt: [UInt8], cost: PasswordCost) -> [UInt8] {
        Array("nacre.secrets.1:\(Hex.encode(salt)):\(cost.passes):\(cost.memory)".utf8)
    }

    /// Reads the file. - Throws: `secrets.damaged`.
    package init(parsing bytes: [UInt8]) throws(NacreError) {
        guard let value = try? JSONParser.parse(bytes), value["nacre"] == "secrets", value["version"] == 1,
            let salt = value["salt"]?.string.flatMap({ Base64URL.decode($0) }), salt.count == PassphraseKey.saltLength,
            let passes = value["passes"]?.integer, let memory = value["memory"]?.integer,
            // A stranger's file must not make us fill the memory.
            (1...64).contains(passes), (8192...(1 << 30)).contains(memory),  // guard: secrets-cost-bound
            let box = value["box"]?.string.flatMap({ Base64URL.decode($0) })
        else { throw Self.damaged }
        self.salt = salt
        cost = PasswordCost(passes: Int(passes), memory: Int(memory))
        self.box = box
    }

    /// The sealed secrets, ready to be written.
    static func seal(
        _ secrets: [String: [UInt8]], key: SealingKey, salt: [UInt8], cost: PasswordCost, random: any RandomSource
    ) throws(NacreError) -> [UInt8] {
        let plain = JSONValue.object(secrets.mapValues { .string(Base64URL.encode($0)) })
        let box = try key.seal(plain.bytes, context: context(salt: salt, cost: cost), random: random)
        let file: JSONValue = [
            "nacre": "secrets", "version": 1, "salt": .string(Base64URL.encode(salt)),
            "passes": JSONValue(cost.passes), "memory": JSONValue(cost.memory), "box": .string(Base64URL.encode(box)),
        ]
        return file.bytes
    }

    /// The secrets, or nil when the key is not this file's. - Throws: `secrets.damaged`.
    package func open(with key: SealingKey) throws(NacreError) -> [String: [UInt8]]? {
        guard let plain = try? key.open(box, context: Self.context(salt: salt, cost: cost)) else { return nil }
        guard let members = try? JSONParser.parse(plain).object else { throw Self.damaged }
        return members.compactMapValues { $0.string.flatMap { Base64URL.decode($0) } }
    }

    static var damaged: NacreError {
        NacreError(
            "secrets.damaged",
            "The passphrase store cannot be read; move its file away and sign in again.")
    }
}
