// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
package import NacreCrypto
package import NacreReleases

/// `updates` of `nacre.json`: what a build says of updates over the air (UP-1). Without it the app has no updater (UP-13).
package struct UpdateConfiguration: Sendable {
    /// `updates.publicKey`, `MOBILE_OTA_SIGNING_PUBLIC_KEY_B64`: the RSA-2048 key of the source system's format, its PEM text
    /// in base64 on one line, as `nacre ota keygen` prints it, or the PEM text itself. Default none.
    package var archiveKey: PublicKey?
    /// `updates.rootKeys`: the Ed25519 keys, base64, that say who signs releases; with them a release without a signed
    /// envelope is refused. Example: `["AbC…="]`. Default none.
    ///
    /// `updates.rootThreshold`: how many of them must agree on who signs. Default 1.
    package var roots: RootKeys?
    /// `updates.sequence`: under which the bundle inside the app was published; nothing below it is taken. Default none.
    package var sequence: Int64?
    /// `updates.storageEpoch`: of the bundle inside the app, growing whenever a bundle changes what it has stored in a way
    /// that an older one cannot read. Default 0.
    package var storageEpoch: Int64 = 0
    /// `updates.appReadyTimeout`: how long, in milliseconds, a new bundle has to confirm its start before the one before it
    /// is shown again (UP-7); 1000 at least. Default 10000.
    package var appReadyTimeout: Duration = .seconds(10)

    private static let keyName = "MOBILE_OTA_SIGNING_PUBLIC_KEY_B64"

    /// Reads the section, or the environment alone where there is none.
    ///
    /// - Returns: nil where no key is named, so that there is nothing by which an update could be believed.
    /// - Throws: `configuration.*` that names the key.
    static func read(
        _ top: inout ConfigurationReader, _ file: String, _ names: SeedEnvironment
    ) throws(NacreError) -> UpdateConfiguration? {
        let section = try top.object("updates")
        var reader = if let section { section } else { try ConfigurationReader([:], file: file, path: "updates") }
        var result = UpdateConfiguration()
        let written = try reader.string("publicKey")
        if let text = names[keyName] {
            result.archiveKey = try key(text) { reason in
                NacreError("configuration.value", "\(keyName) \(reason)")
            }
        } else if let written {
            result.archiveKey = try key(written) { [reader] in reader.fault("publicKey", $0) }
        }
        let roots = try reader.strings("rootKeys")
        let threshold = try reader.integer("rootThreshold", in: 1...64)
        result.roots = try Self.roots(roots, threshold, reader)
        result.sequence = try reader.integer("sequence", in: 1...(1 << 53) - 1)
        let epoch = try reader.integer("storageEpoch", in: 0...(1 << 53) - 1)
        result.storageEpoch = epoch ?? 0
        let timeout = try reader.integer("appReadyTimeout", in: 1000...600_000)
        if let timeout { result.appReadyTimeout = .milliseconds(timeout) }
        // Where `nacre ota publish` writes; a device follows the channel that its server names (UP-1).
        _ = try reader.string("channel")
        try reader.finish()
        if result.archiveKey != nil || result.roots != nil { return result }
        guard result.sequence == nil, epoch == nil, timeout == nil else {
            throw reader.fault(
                "publicKey",
                "is missing, and so are \"rootKeys\": without a key no update can be believed. Make one: nacre ota keygen."
            )
        }
        return nil
    }

    private static func roots(
        _ texts: [String]?, _ threshold: Int64?, _ reader: ConfigurationReader
    ) throws(NacreError) -> RootKeys? {
        guard let texts else {
            guard threshold == nil else {
                throw reader.fault("rootThreshold", "counts \"rootKeys\", and there are none.")
            }
            return nil
        }
        var keys: [ReleaseKey] = []
        for text in texts {
            guard let key = ReleaseKey(base64: text) else {
                throw reader.fault(
                    "rootKeys", "holds \"\(text.prefix(60))\", which is no Ed25519 public key in base64 (32 bytes).")
            }
            keys.append(key)
        }
        do throws(NacreError) {
            return try RootKeys(keys, threshold: Int(threshold ?? 1))
        } catch {
            throw reader.fault(
                "rootKeys",
                "must hold different keys, one at least, and \"rootThreshold\" must not be more than there are.")
        }
    }

    private static func key(
        _ text: String, _ fault: (String) -> NacreError
    ) throws(NacreError) -> PublicKey {
        var pem = text
        if !text.contains("-----BEGIN"), let bytes = Base64.decode(text),
            let inner = String(validating: bytes, as: UTF8.self)
        {
            pem = inner
        }
        guard !pem.contains("PRIVATE KEY") else {  // guard: updates-private-key
            throw fault("is a private key, which no app may hold; name the public half.")
        }
        let isPKCS1 = pem.contains("-----BEGIN RSA PUBLIC KEY-----")
        guard let key = isPKCS1 ? try? PublicKey(pkcs1PEM: pem) : try? PublicKey(pem: pem) else {
            throw fault(
                "is no public key: it is the PEM text of one, in base64 on one line (nacre ota keygen prints it).")
        }
        guard key.rsaBits == 2048 else { throw fault("must be an RSA key of 2048 bits.") }  // guard: updates-key-size
        return key
    }
}

extension AppConfiguration {
    /// What the updater is started with; nil where this app has none: no key, a development server (SH-2), or no server
    /// chosen yet.
    var usesUpdates: UpdateConfiguration? {
        devServer == nil && !needsServer ? updates : nil  // guard: updates-dev-server
    }
}
