// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
package import NacreHTTP

/// The server whose data lies in an app's plain folders, noted at each start without a choice (`api.choose`). When a later
/// release lets people choose, whoever has used that server goes on with it and finds everything in its place.
package enum HomeServer {
    /// What is noted in `folder`; nil where nothing is, and for a cleartext server in a release (NB-8).
    package static func read(folder: String, isDevelopment: Bool) -> Origin? {
        guard let bytes = try? PrivateFile.read(file(folder), upTo: 4096), let json = try? JSONParser.parse(bytes),
            let origin = json["origin"]?.string.flatMap({ try? Origin($0) }),
            origin.scheme == "https" || isDevelopment  // guard: home-server-cleartext
        else { return nil }
        return origin
    }

    /// Notes the server, unless it is noted already. A disk that takes no write shows itself elsewhere; what is lost here
    /// is that a person is asked.
    package static func note(_ origin: Origin, folder: String) {
        guard read(folder: folder, isDevelopment: true) != origin else { return }
        let json: JSONValue = ["origin": .string(origin.description)]
        try? PrivateFile.replace(file(folder), json.bytes)
    }

    private static func file(_ folder: String) -> String { folder + "/home-server.json" }
}
