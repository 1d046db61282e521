// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CPostgres
import NacreCore

/// Where a PostgreSQL database is and how to get in, read from its URL.
struct PostgresTarget: Sendable {
    /// The connection parameters of libpq, by keyword.
    let parameters: [String: String]
    /// The keywords among them that libpq itself says are secrets: `password`, `sslpassword`.
    let secretKeywords: Set<String>

    /// Reads `postgres://user:password@host:5432/name?sslmode=verify-full` and everything else that libpq takes in a URL.
    ///
    /// `environment` answers a variable of libpq's own (`PGHOST`), which stands in for what the URL does not say.
    /// - Throws: `database.url`; the URL is not repeated, it may hold a password.
    init(
        url: String, environment: (String) -> String? = PostgresTarget.ownEnvironment
    ) throws(NacreError) {
        guard url.hasPrefix("postgres://") || url.hasPrefix("postgresql://") else { throw Self.fault }
        // What libpq says about a URL it cannot read quotes parts of it, perhaps the password: it is not passed on.
        var complaint: UnsafeMutablePointer<CChar>?
        let options = PQconninfoParse(url, &complaint)
        PQfreemem(complaint)
        guard let options else { throw Self.fault }
        defer { PQconninfoFree(options) }
        var read: [String: String] = [:]
        var secrets: Set<String> = []
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val {
                read[String(cString: keyword)] = String(cString: value)
                // libpq's mark for what a form shows as dots.
                if String(cString: option.pointee.dispchar) == "*" { secrets.insert(String(cString: keyword)) }
            }
            option += 1
        }
        secretKeywords = secrets
        parameters = Self.completed(read, environment)
    }

    /// What libpq finds in the environment of this process.
    static func ownEnvironment(_ name: String) -> String? { nacre_pg_environment(name).map { String(cString: $0) } }

    private static var fault: NacreError {
        NacreError(
            "database.url",
            "The address of the database cannot be read; write postgres://USER:PASSWORD@HOST:5432/NAME, signs such as "
                + "@ or / in the password percent-encoded.")
    }

    /// The settings that a server needs, where the URL says nothing else.
    private static func completed(_ read: [String: String], _ environment: (String) -> String?) -> [String: String] {
        var result = [
            "connect_timeout": "5", "keepalives_idle": "15", "keepalives_interval": "5", "keepalives_count": "3",
            "tcp_user_timeout": "30000", "fallback_application_name": "nacre",
        ]
        result.merge(read) { _, written in written }
        result["client_encoding"] = "UTF8"
        // libpq's own default goes on without TLS when the server offers none, also over the internet.
        if !isLocal(read, environment), read["sslmode"] == nil, environment("PGSSLMODE") == nil {
            result["sslmode"] = "require"  // guard: postgres-tls
        }
        return result
    }

    private static func isLocal(_ read: [String: String], _ environment: (String) -> String?) -> Bool {
        if read["hostaddr"] == nil, read["host"] == nil {
            // Then libpq looks elsewhere for a host.
            return read["service"] == nil
                // guard: postgres-elsewhere
                && (["PGHOST", "PGHOSTADDR", "PGSERVICE"] as [String]).allSatisfy { environment($0) == nil }
        }
        let hosts = (read["hostaddr"] ?? read["host"] ?? "").split(separator: ",", omittingEmptySubsequences: false)
        return hosts.allSatisfy {
            $0.isEmpty || $0.hasPrefix("/") || $0 == "localhost" || $0 == "::1" || $0.hasPrefix("127.")
        }
    }

    /// What a message may tell: host, port and name.
    var place: String {
        let host = parameters["host"] ?? parameters["hostaddr"] ?? "the local socket"
        return "\(parameters["dbname"] ?? parameters["user"] ?? "") at \(host):\(parameters["port"] ?? "5432")"
    }

    /// `text` without the password, should it stand there.
    func redacted(_ text: String) -> String {
        var text = text
        for keyword in secretKeywords {
            guard let secret = parameters[keyword], !secret.isEmpty else { continue }
            text = text.replacing(secret, with: "•••")  // guard: postgres-password
        }
        return text
    }
}
