// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CLinux
import Foundation
package import NacreCore
import NacreCrypto
import NacreDatabase
import NacreGateway
import NacreProvider
import NacreSessions

/// What `nacre admin` does: over the database and the data folder of one configuration, also while the server runs.
///
/// Every call answers what it did as JSON; the command prints that, or a table of it.
package struct Administration: Sendable {
    let configuration: ServerConfiguration
    let time: any TimeSource
    let random: any RandomSource
    let log: Log
    /// What PostgreSQL's tools are started with.
    let environment: [String: String]

    package init(
        _ configuration: ServerConfiguration, log: Log = .none, time: any TimeSource = SystemTime(),
        random: any RandomSource = SystemRandom(), environment: [String: String] = ProcessInfo.processInfo.environment
    ) {
        self.configuration = configuration
        self.environment = environment
        self.log = log
        self.time = time
        self.random = random
    }

    /// The stores of an installation that is there already: a mistyped folder must not become a new one.
    ///
    /// - Throws: `admin.no_installation`.
    func stores() async throws -> ServerStores {
        guard
            FileManager.default.fileExists(atPath: configuration.data + "/secret.key") || configuration.secret != nil
        else {
            throw NacreError(
                "admin.no_installation",
                "There is no installation in \(configuration.data); check \"data\" (NACRE_DATA) and --config, or run "
                    + "nacre admin migrate to make one.")
        }
        defer { giveToOwner() }
        return try await ServerStores(configuration, try DataFolder(configuration.data), time: time, random: random)
    }

    func sessions(_ stores: ServerStores) -> SessionStore {
        SessionStore(
            database: stores.gateway, sealing: stores.keys.sealing, policy: configuration.gateway.sessions, time: time,
            random: random)
    }

    /// - Throws: `admin.no_provider` when the people are somebody else's.
    func provider(_ stores: ServerStores) async throws -> EmbeddedProvider {
        guard configuration.provider.enabled else {
            throw NacreError(
                "admin.no_provider",
                "The embedded provider is off, so accounts are kept at \(configuration.openID.issuer ?? "the provider"); "
                    + "change them there.")
        }
        return try await EmbeddedProvider(
            configuration: configuration.embedded(stores.keys), database: try stores.provider(), time: time,
            random: random, log: log)
    }

    /// As root, gives what it has made in the data folder to whom the folder belongs, else the server cannot open it.
    func giveToOwner() {
        guard geteuid() == 0 else { return }
        let folder = nacre_open(configuration.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        guard folder >= 0 else { return }
        defer { nacre_close(folder) }
        var found = stat()
        guard nacre_describe(folder, &found) == 0, found.st_uid != 0 else { return }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: configuration.data)) ?? []
        let database = configuration.databaseFile.map { path in ["", "-wal", "-shm"].map { path + $0 } } ?? []
        for name in names + database.map({ URL(filePath: $0).path }) {
            // The folder is somebody else's, who may put there what they like, while this goes on.
            guard let file = FileView(in: folder, name), file.isOwn else { continue }
            _ = file.give(to: found.st_uid, found.st_gid)
        }
    }

    // MARK: Migrations

    /// Brings the tables up to date, and answers their versions.
    package func migrate() async throws -> JSONValue {
        // Putting the server together is what brings everything up to date; nothing listens.
        _ = try await NacreServer(configuration, log: log, time: time, random: random)
        giveToOwner()
        return try await schema()
    }

    /// The version of each component's tables.
    package func schema() async throws -> JSONValue {
        let stores = try await stores()
        var databases: [String: JSONValue] = ["gateway": try await Self.versions(stores.gateway)]
        if configuration.provider.enabled { databases["provider"] = try await Self.versions(stores.provider()) }
        return ["version": .string(ServerConfiguration.version), "databases": .object(databases)]
    }

    private static func versions(_ database: Database) async throws -> JSONValue {
        let rows = try await database.read { sql in
            try sql.query("SELECT component, MAX(version) AS version FROM nacre_migration GROUP BY component")
        }
        var versions: [String: JSONValue] = [:]
        for row in rows { versions[try row.text("component")] = .integer(try row.integer("version")) }
        return .object(versions)
    }

    // MARK: Sessions

    /// The sessions of everybody or of one person, newest use first.
    package func listSessions(user: String?, limit: Int) async throws -> JSONValue {
        let found = try await sessions(try await stores()).summaries(userID: user, limit: limit)
        return [
            "sessions": .array(
                found.map { session in
                    [
                        "id": .string(session.id), "user": .string(session.userID), "issuer": .string(session.issuer),
                        "subject": .string(session.subject), "email": JSONValue(session.email),
                        "device": JSONValue(session.device), "createdAt": .string(Self.text(session.createdAt)),
                        "lastSeenAt": .string(Self.text(session.lastSeenAt)),
                        "idleExpiresAt": .string(Self.text(session.idleExpiresAt)),
                    ]
                })
        ]
    }

    /// Ends these sessions, and those derived from them.
    ///
    /// - Throws: `admin.no_session` when one is not there (the others have ended).
    package func endSessions(_ ids: [String]) async throws -> JSONValue {
        let store = sessions(try await stores())
        var ended = 0
        var missing: [String] = []
        for id in ids {
            let count = try await store.end(id)
            ended += count
            if count == 0 { missing.append(id) }
        }
        guard missing.isEmpty else {
            throw NacreError(
                "admin.no_session",
                "There is no session \(missing.joined(separator: ", ")); nacre admin sessions list names them."
                    + (ended > 0 ? " \(ended) others have ended." : ""))
        }
        return ["ended": JSONValue(ended)]
    }

    /// Ends every session of a person, or of everybody.
    package func endAllSessions(user: String?) async throws -> JSONValue {
        let store = sessions(try await stores())
        var ended = 0
        var people = Set<[String]>()
        for session in try await store.summaries(userID: user, limit: .max) {
            guard people.insert([session.issuer, session.subject]).inserted else { continue }
            ended += try await store.end(issuer: session.issuer, subject: session.subject)
        }
        return ["ended": JSONValue(ended)]
    }

    // MARK: People

    /// Who has sessions, and who can sign in at the embedded provider.
    package func listUsers() async throws -> JSONValue {
        let stores = try await stores()
        var people: [[String]: (session: SessionSummary, count: Int)] = [:]
        for session in try await sessions(stores).summaries(limit: .max) {
            people[[session.issuer, session.subject], default: (session, 0)].count += 1
        }
        var result: [String: JSONValue] = [
            "signedIn": .array(
                people.values.sorted { $0.session.lastSeenAt > $1.session.lastSeenAt }.map { person in
                    [
                        "user": .string(person.session.userID), "issuer": .string(person.session.issuer),
                        "subject": .string(person.session.subject), "email": JSONValue(person.session.email),
                        "sessions": JSONValue(person.count),
                        "lastSeenAt": .string(Self.text(person.session.lastSeenAt)),
                    ]
                })
        ]
        if configuration.provider.enabled {
            result["accounts"] = .array(
                try await provider(stores).people().map { person in
                    [
                        "username": .string(person.username), "email": .string(person.email),
                        "name": .string(person.name), "subject": .string(person.subject),
                        "development": .bool(person.isDevelopment), "createdAt": .string(Self.text(person.createdAt)),
                    ]
                })
        }
        return .object(result)
    }

    /// Adds a person to the embedded provider.
    package func addUser(
        _ username: String, password: String, email: String, givenName: String, familyName: String, locale: String
    ) async throws -> JSONValue {
        try Self.check(password)
        let provider = try await provider(try await stores())
        do {
            try await provider.addAccount(
                username: username, password: password, givenName: givenName, familyName: familyName, email: email,
                locale: locale)
        } catch let error as NacreError where error.code == "database.unique" {
            throw NacreError("admin.user_exists", "Somebody has the name \(username) or the address \(email) already.")
        }
        return ["added": .string(username)]
    }

    /// Gives a person of the embedded provider another password, which ends their sessions.
    package func setPassword(_ password: String, of name: String) async throws -> JSONValue {
        try Self.check(password)
        return try await change(name, "changed") { try await $0.setPassword(password, of: name) }
    }

    /// Removes a person of the embedded provider, which ends their sessions.
    package func removeUser(_ name: String) async throws -> JSONValue {
        try await change(name, "removed") { try await $0.removePerson(name) }
    }

    private func change(
        _ name: String, _ verb: String, _ body: (EmbeddedProvider) async throws -> Bool
    ) async throws -> JSONValue {
        let stores = try await stores()
        let provider = try await provider(stores)
        let person = try await provider.people().first { [$0.username, $0.email].contains(name.lowercased()) }
        guard let person, try await body(provider) else {
            throw NacreError("admin.no_user", "Nobody is called \(name); nacre admin users list names them.")
        }
        let ended = try await sessions(stores).end(
            issuer: configuration.provider.issuer, subject: person.subject)
        return [verb: .string(person.username), "endedSessions": JSONValue(ended)]
    }

    private static func check(_ password: String) throws(NacreError) {
        guard password.utf8.count >= 8 else {  // guard: admin-password
            throw NacreError("admin.password", "A password has at least 8 characters; it is read from standard input.")
        }
    }

    // MARK: Keys

    /// Follows signing keys by new ones: the identity's, those under session tokens, the provider's, or all there are.
    ///
    /// `stolen` withdraws the old keys at once: every token they signed is refused from then on.
    /// - Throws: `admin.no_keys`.
    package func rotateKeys(_ kinds: [String], stolen: Bool = false) async throws -> JSONValue {
        _ = try await stores()
        let rotations = try await rotations(stolen: stolen)
        var rotated: [String] = []
        for rotation in rotations where kinds.isEmpty || kinds.contains(rotation.name) {
            try await rotation.rotate()
            rotated.append(rotation.name)
        }
        if let missing = kinds.first(where: { !rotated.contains($0) }) ?? (rotated.isEmpty ? "identity" : nil) {
            throw NacreError(
                "admin.no_keys",
                "There are no keys called \(missing) to rotate so; there are: "
                    + "\(rotations.map(\.name).joined(separator: ", ")).")
        }
        giveToOwner()
        return ["rotated": .array(rotated.map(JSONValue.string))]
    }

    /// A moment as people and scripts read it.
    static func text(_ moment: Instant) -> String {
        Date(timeIntervalSince1970: Double(moment.milliseconds) / 1000).formatted(.iso8601)
    }
}
