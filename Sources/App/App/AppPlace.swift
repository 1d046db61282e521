// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreHTTP

/// Whose data an app works with: an account's, and within it a server's. Nothing of one place is seen from another.
package struct AppPlace: Sendable, Equatable {
    package enum Server: Sendable, Equatable {
        /// The one that the configuration names, or whose data was there before a person could choose.
        case own
        /// None yet: a person is being asked.
        case asked
        case chosen(Origin)
    }

    /// The account; nil is the first, whose data lies where an app without accounts keeps its own.
    package let account: String?
    package let server: Server

    package init(account: String? = nil, server: Server = .own) {
        self.account = account
        self.server = server
    }

    /// The place below the app's own folders: nothing, or a path with a slash in front.
    package var path: String { Self.path(ofAccount: account) + serverPath }

    package static func path(ofAccount account: String?) -> String { account.map { "/accounts/" + $0 } ?? "" }

    private var serverPath: String {
        switch server {
        case .own: ""
        case .asked: "/asked"
        case .chosen(let origin): "/servers/" + Self.name(origin)
        }
    }

    /// Under which name the secrets of the app `id` are kept. No id holds a slash or a space.
    package func secretsID(_ id: String) -> String {
        var result = id
        if let account { result += "/" + account }  // guard: account-secrets
        switch server {
        case .own: break
        case .asked: result += " asked"
        case .chosen(let origin): result += " \(origin)"
        }
        return result
    }

    /// A file's name for a server, such as `https_mail.example.org_443`; hosts hold neither slashes nor underscores
    /// that could make two of them one.
    static func name(_ server: Origin) -> String {
        "\(server.scheme)_\(server.host.filter { $0 != "[" && $0 != "]" })_\(server.port)"
    }

    /// The server of such a name.
    static func server(named name: String) -> Origin? {
        let parts = name.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == "https" || parts[0] == "http", let port = Int(parts[2]) else { return nil }
        let host = parts[1].contains(":") ? "[\(parts[1])]" : String(parts[1])
        guard let origin = try? Origin("\(parts[0])://\(host):\(port)"), Self.name(origin) == name else { return nil }
        return origin
    }
}
