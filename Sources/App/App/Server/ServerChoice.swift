// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreHTTP

/// The server that a person has chosen, kept beside the app's folders: it is no secret, and is needed before any of them.
package struct ServerChoice: Sendable, Equatable {
    /// The server; nil before the first choice.
    package var origin: Origin?
    /// Whether the person wants to choose (again).
    package var isAsking: Bool

    /// No choice yet.
    package init() {
        origin = nil
        isAsking = true
    }

    /// A choice of this server.
    package init(origin: Origin?, isAsking: Bool) {
        self.origin = origin
        self.isAsking = isAsking
    }

    /// What is kept in `folder`. A file that cannot be read, or that names a cleartext server in a release (NB-8), is no
    /// choice: the person is asked.
    ///
    /// - Parameter home: the server that the app used before there was a choice: who has chosen nothing stays with it.
    package init(folder: String, isDevelopment: Bool, home: Origin? = nil) {
        self.init()
        if let home, (try? PrivateFile.read(Self.file(folder), upTo: 4096)) ?? nil == nil {
            self.init(origin: home, isAsking: false)
        }
        guard let bytes = try? PrivateFile.read(Self.file(folder), upTo: 4096),
            let json = try? JSONParser.parse(bytes), let text = json["origin"]?.string,
            let origin = try? Origin(text), origin.scheme == "https" || isDevelopment  // guard: server-choice-cleartext
        else { return }
        self.origin = origin
        isAsking = json["asking"]?.bool ?? false
    }

    /// Keeps the choice in `folder`.
    ///
    /// - Throws: `file.*`.
    package func keep(folder: String) throws(NacreError) {
        let json: JSONValue = ["origin": JSONValue(origin?.description), "asking": .bool(isAsking)]
        try PrivateFile.replace(Self.file(folder), json.bytes)
    }

    private static func file(_ folder: String) -> String { folder + "/server.json" }
}

extension AppConfiguration {
    /// Whether the app cannot start before a person has chosen a server (`api.choose`).
    package var needsServer: Bool { choosesServer && api == Self.noServer }

    /// The chosen server, to which folders and secrets belong; nil where none is chosen by a person, and for the one whose
    /// data was there before there was a choice.
    package var boundServer: Origin? { choosesServer && !needsServer && api != homeServer ? api : nil }

    /// Whose data is worked with.
    package var place: AppPlace {
        AppPlace(account: account, server: needsServer ? .asked : boundServer.map { .chosen($0) } ?? .own)
    }

    /// Under which name the app's secrets are kept: a session is its account's and its server's.
    package var secretsID: String { place.secretsID(id) }

    /// This configuration with what the person has chosen.
    ///
    /// - Parameter home: the server that the app used before there was a choice.
    package func with(_ choice: ServerChoice, home: Origin? = nil) -> AppConfiguration {
        guard choosesServer else { return self }
        var result = self
        result.homeServer = home
        result.proposedServer = choice.origin ?? proposedServer
        result.api = choice.isAsking ? Self.noServer : choice.origin ?? Self.noServer
        return result
    }
}
