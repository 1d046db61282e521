// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreCrypto
package import NacreReleases

/// The keys of a publishing job.
package struct PublisherKeys: Sendable {
    /// RSA-2048: seals archives in the source system's format.
    package let archive: PrivateKey
    /// Ed25519: signs releases; nil publishes for the source system's clients only.
    package let release: PrivateKey?

    /// Reads what the environment has.
    ///
    /// - Throws: `ota.key` that names the variable and never shows its value.
    package init(environment: [String: String]) throws(NacreError) {
        guard let archive = try KeyText.privateKey(Self.archiveVariable, in: environment, .rs256) else {
            throw NacreError(
                "ota.key",
                "\(Self.archiveVariable) is not set; nothing is published without it. Make a pair with: "
                    + "nacre ota keygen")
        }
        guard archive.publicKey.rsaBits == 2048 else {
            throw NacreError("ota.key", "\(Self.archiveVariable) is not an RSA key of 2048 bits.")
        }
        if let text = environment[Self.archivePublicVariable], !text.isEmpty {
            // A pair that does not match gives bundles that every app refuses.
            let half = try KeyText.rsaPublicKey(text, Self.archivePublicVariable)
            guard half.pem == archive.publicKey.pem else {  // guard: key-pair
                throw NacreError(
                    "ota.key",
                    "\(Self.archiveVariable) and \(Self.archivePublicVariable) are not of one pair; every app would refuse "
                        + "the bundle. Take both from one run of: nacre ota keygen")
            }
        }
        self.archive = archive
        release = try KeyText.privateKey(Self.releaseVariable, in: environment, .edDSA)
    }

    package init(archive: PrivateKey, release: PrivateKey?) { (self.archive, self.release) = (archive, release) }

    package static let archiveVariable = "MOBILE_OTA_SIGNING_PRIVATE_KEY_B64"
    package static let archivePublicVariable = "MOBILE_OTA_SIGNING_PUBLIC_KEY_B64"
    package static let releaseVariable = "NACRE_OTA_RELEASE_PRIVATE_KEY_B64"
    package static let rootPublicVariable = "NACRE_OTA_ROOT_PUBLIC_KEY"
    package static let rootsVariable = "NACRE_OTA_ROOT_PRIVATE_KEY_B64"
    package static let freshnessVariable = "NACRE_OTA_FRESHNESS_PRIVATE_KEY_B64"
}

/// Keys as one line of text: base64 of a PEM.
package enum KeyText {
    /// One line for an environment file.
    package static func line(_ pem: String) -> String { Base64.encode(Array(pem.utf8)) }

    /// The PEM of a value: base64 of it, or itself.
    static func pem(_ text: String) -> String? {
        if text.contains("-----BEGIN ") {
            // Some secret stores write line ends as two characters.
            return text.split(separator: "\\n", omittingEmptySubsequences: false).joined(separator: "\n")
        }
        let packed = text.filter { !$0.isWhitespace }
        guard let bytes = Base64.decode(packed), let pem = String(validating: bytes, as: UTF8.self),
            pem.contains("-----BEGIN ")
        else { return nil }
        return pem
    }

    /// The private key of a variable; nil where it is not set.
    ///
    /// - Throws: `ota.key`.
    package static func privateKey(
        _ name: String, in environment: [String: String], _ algorithm: SignatureAlgorithm
    ) throws(NacreError) -> PrivateKey? {
        guard let text = environment[name], !text.isEmpty else { return nil }
        let kind = algorithm == .rs256 ? "an RSA" : "an Ed25519"
        guard let pem = pem(text), let key = try? PrivateKey(pem: pem), key.algorithm == algorithm else {
            throw NacreError(
                "ota.key", "\(name) is not base64 of \(kind) private key in PEM form, as keygen prints it.")
        }
        return key
    }

    /// The keys of a variable that holds several, apart by commas or white space.
    package static func privateKeys(
        _ name: String, in environment: [String: String], _ algorithm: SignatureAlgorithm
    ) throws(NacreError) -> [PrivateKey] {
        var keys: [PrivateKey] = []
        for part in (environment[name] ?? "").split(whereSeparator: { $0 == "," || $0.isWhitespace }) {
            if let key = try privateKey(name, in: [name: String(part)], algorithm) { keys.append(key) }
        }
        return keys
    }

    /// An RSA public key in either PEM form, or base64 of it.
    ///
    /// - Throws: `ota.key`.
    package static func rsaPublicKey(_ text: String, _ name: String) throws(NacreError) -> PublicKey {
        let fault = NacreError(
            "ota.key", "\(name) is not base64 of an RSA public key in PEM form, as keygen prints it.")
        guard let pem = pem(text) else { throw fault }
        do throws(NacreError) {
            let key =
                pem.contains("BEGIN RSA PUBLIC KEY") ? try PublicKey(pkcs1PEM: pem) : try PublicKey(pem: pem)
            guard key.algorithm == .rs256 else { throw fault }
            return key
        } catch { throw fault }
    }

    /// The public half of an Ed25519 key, as configuration files have it.
    package static func releaseKey(_ key: PrivateKey) throws(NacreError) -> ReleaseKey {
        guard case .ed25519(let bytes) = key.publicKey.components, let half = ReleaseKey(bytes) else {
            throw NacreError("ota.key", "This needs an Ed25519 key.")
        }
        return half
    }
}
