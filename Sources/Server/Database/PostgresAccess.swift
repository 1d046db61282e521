// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore

/// How PostgreSQL's own tools get into a database: with the very parameters of the server's own connections, the rule
/// about TLS among them, and with the secrets apart from what a command line may show.
package struct PostgresAccess: Sendable {
    private let target: PostgresTarget

    /// Reads the URL of the database.
    ///
    /// - Throws: `database.url`; the URL is not repeated.
    package init(url: String) throws(NacreError) { target = try PostgresTarget(url: url) }

    init(_ target: PostgresTarget) { self.target = target }

    /// The parameters as a connection string, without any secret: a command line can be read by everybody on the machine.
    package var connectionString: String {
        let open = target.parameters.keys.filter { !target.secretKeywords.contains($0) }  // guard: dump-secrets
        return open.sorted().map { keyword in
            let value = (target.parameters[keyword] ?? "").replacing("\\", with: "\\\\").replacing("'", with: "\\'")
            return "\(keyword)='\(value)'"
        }.joined(separator: " ")
    }

    /// The password, for `PGPASSWORD`.
    package var password: String? { target.parameters["password"] }

    /// The name of the section in `serviceFile`.
    package static let service = "nacre"

    /// What libpq takes from no variable, as the content of a service file (libpq's documentation, "The Connection Service
    /// File"): the password of a client certificate's key. Nil when there is none.
    ///
    /// - Throws: `database.url` for a secret that such a file cannot hold.
    package func serviceFile(environment: (String) -> String?) throws(NacreError) -> String? {
        let rest = target.secretKeywords.subtracting(["password"]).sorted()
        guard !rest.isEmpty else { return nil }
        guard target.parameters["service"] == nil, environment("PGSERVICE") == nil else {
            throw NacreError(
                "database.url",
                "The address of the database names a service and has \(rest.joined(separator: ", ")) besides; write that "
                    + "into the service's own section.")
        }
        var text = "[\(Self.service)]\n"
        for keyword in rest {
            let value = target.parameters[keyword] ?? ""
            // A line there has at most 1023 bytes and loses spaces at its end.
            guard value.utf8.count < 900, value.last != " ", !value.utf8.contains(where: { $0 < 0x20 }) else {
                throw NacreError(
                    "database.url",
                    "The \(keyword) of the database's address is too long or ends with a space; "
                        + "choose another one.")
            }
            text += "\(keyword)=\(value)\n"
        }
        return text
    }

    /// `text` without a secret that may stand there.
    package func redacted(_ text: String) -> String { target.redacted(text) }
}
