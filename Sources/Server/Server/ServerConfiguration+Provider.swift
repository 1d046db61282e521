// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreHTTP
import NacreProvider

/// The settings of the embedded provider: where it is, what its levels take (PV-2), and whom it signs people in for (PV-1).
extension ServerConfiguration {
    /// A secret that a person could have thought of does not guard a token endpoint.
    private static let shortestSecret = 16

    mutating func readProvider(
        _ reader: inout ConfigurationReader, _ file: String, _ environment: EnvironmentReader,
        _ readFile: (String) throws -> String
    ) throws(NacreError) {
        var object = try reader.object("provider")
        provider.enabled = try object?.bool("enabled") ?? (isDevelopment && openID.issuer == nil)
        if var listen = try object?.object("listen") {
            provider.listen = Address(
                host: try listen.string("host") ?? provider.listen.host,
                port: try listen.integer("port", in: 0...65535).map { Int($0) } ?? provider.listen.port)
            try listen.finish()
        }
        let issuer = try object?.string("issuer")
        provider.issuer = issuer ?? "http://localhost:\(provider.listen.port)"
        try readLevels(&object, file)
        try readClients(&object, file, environment, readFile)
        try object?.finish()
        guard provider.enabled else { return try checkOpenID(reader) }
        guard openID.issuer == nil || openID.issuer == provider.issuer else {
            throw reader.fault(
                "provider.enabled", "is true, but oidc.issuer (OIDC_OP_URL) names another provider; choose one of them."
            )
        }
        guard isDevelopment || issuer != nil else {
            throw reader.fault(
                "provider.issuer", "is missing; write its https address, such as \"https://id.example.org\".")
        }
        guard provider.listen.host != listen.host || provider.listen.port != listen.port || listen.port == 0 else {
            throw reader.fault("provider.listen", "is the gateway's own address; choose another port.")
        }
        guard embeddedAlgorithm != nil else {
            throw reader.fault(
                "oidc.signAlgorithm", "(OIDC_RP_SIGN_ALGO) must be ES256 or RS256 with the embedded provider.")
        }
    }

    /// What the embedded provider signs the gateway's own tokens by; nil when it has no such keys.
    var embeddedAlgorithm: SignatureAlgorithm? {
        switch openID.signAlgorithm {
        case nil: .es256
        case let name?: Self.algorithms[name]
        }
    }

    private static let algorithms: [String: SignatureAlgorithm] = ["ES256": .es256, "RS256": .rs256]

    private static func objects(
        _ reader: inout ConfigurationReader?, _ key: String, _ file: String
    ) throws(NacreError) -> [ConfigurationReader]? {
        guard let found = reader, let value = reader?.value(key) else { return nil }
        guard let items = value.array else { throw found.fault(key, "must be a list of objects.") }
        var result: [ConfigurationReader] = []
        for (index, item) in items.enumerated() {
            result.append(try ConfigurationReader(item, file: file, path: "\(found.path).\(key)[\(index)]"))
        }
        return result
    }

    private mutating func readLevels(_ reader: inout ConfigurationReader?, _ file: String) throws(NacreError) {
        guard let entries = try Self.objects(&reader, "levels", file) else { return }
        var levels: [AuthenticationLevel] = []
        for var entry in entries {
            let name = try entry.requiredString("acr", example: "eidas1")
            guard name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
                throw entry.fault("acr", "must be visible ASCII characters without a space.")
            }
            var factors: Set<AuthenticationLevel.Factor> = []
            for word in try entry.strings("factors") ?? [] {
                guard let factor = AuthenticationLevel.Factor(rawValue: word) else {
                    throw entry.fault("factors", "has \"\(word)\"; the factors are password and oneTimeCode.")
                }
                factors.insert(factor)
            }
            // A level that took nothing would be reached by everybody.
            guard !factors.isEmpty else {  // guard: provider-level-factors
                throw entry.fault("factors", "is missing or empty; write for example [\"password\"].")
            }
            guard !levels.contains(where: { $0.name == name }) else {
                throw entry.fault("acr", "stands twice in the list.")
            }
            try entry.finish()
            levels.append(AuthenticationLevel(name, factors: factors))
        }
        guard let first = levels.first, first.factors == [.password] else {
            throw NacreError(
                "configuration.value",
                "\(file): \"provider.levels\" must begin with a level that takes a password alone; the lowest comes first."
            )
        }
        provider.levels = levels
    }

    private mutating func readClients(
        _ reader: inout ConfigurationReader?, _ file: String, _ environment: EnvironmentReader,
        _ readFile: (String) throws -> String
    ) throws(NacreError) {
        for var entry in try Self.objects(&reader, "clients", file) ?? [] {
            let id = try entry.requiredString("id", example: "agenda")
            guard id != Self.embeddedClientID else {  // guard: provider-client-own
                throw entry.fault("id", "is the gateway's own, which is registered by itself; choose another.")
            }
            guard !provider.clients.contains(where: { $0.id == id }) else {  // guard: provider-client-twice
                throw entry.fault("id", "stands twice in the list.")
            }
            let secret = try Self.secret(&entry, file, environment, readFile)
            let name = try entry.string("name") ?? id
            let addresses = try entry.strings("redirectURIs") ?? []
            guard !addresses.isEmpty else {
                throw entry.fault(
                    "redirectURIs", "is missing; write for example [\"https://agenda.example.org/callback\"].")
            }
            var client = ProviderClient(id: id, secret: secret, name: name, redirectURIs: addresses)
            client.postLogoutRedirectURIs = try entry.strings("postLogoutRedirectURIs") ?? []
            client.backchannelLogoutURI = try entry.string("backchannelLogoutURI")
            if let name = try entry.string("idTokenAlgorithm") {
                guard let algorithm = Self.algorithms[name] else {
                    throw entry.fault("idTokenAlgorithm", "must be ES256 or RS256.")
                }
                client.idTokenAlgorithm = algorithm
            }
            try entry.finish()
            do { try client.validate() } catch {
                throw NacreError(error.code, "\(file): \"\(entry.path)\": \(error.message)")
            }
            provider.clients.append(client)
        }
    }

    /// The secret of a confidential client, from its file or its variable; nil for one that says it is public.
    private static func secret(
        _ entry: inout ConfigurationReader, _ file: String, _ environment: EnvironmentReader,
        _ readFile: (String) throws -> String
    ) throws(NacreError) -> String? {
        let isPublic = try entry.bool("public") ?? false
        let path = try entry.string("secretFile").map { Self.path($0, besides: file) }
        let variable = try entry.string("secretVariable")
        let ways = (isPublic ? 1 : 0) + (path == nil ? 0 : 1) + (variable == nil ? 0 : 1)
        // A forgotten secret must not make a client public.
        guard ways == 1 else {  // guard: provider-client-proof
            throw entry.fault("secretFile", "or \"secretVariable\" or \"public\": true must stand there, one of them.")
        }
        let text: String
        switch (path, variable) {
        case (let path?, _):
            do { text = try readFile(path).trimmingNewlines() } catch {
                throw entry.fault("secretFile", "names \(path), which cannot be read; check who may read it.")
            }
        case (_, let variable?):
            guard let value = environment.variables[variable] else {
                throw entry.fault("secretVariable", "names \(variable), which is not set.")
            }
            text = value
        default: return nil
        }
        guard text.utf8.count >= Self.shortestSecret else {  // guard: provider-client-short-secret
            throw entry.fault(
                path == nil ? "secretVariable" : "secretFile",
                "gives a secret of less than \(Self.shortestSecret) characters; take a random one.")
        }
        return text
    }
}
