// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore

/// Reads settings from environment variables; a wrong one is an error that names it.
struct EnvironmentReader {
    /// The names that mean something here. `serve` warns of others that look like one of them.
    static let names = [
        "NACRE_ENV", "NACRE_ORIGIN", "NACRE_DATA", "NACRE_UPSTREAM", "NACRE_LOG_LEVEL", "OIDC_OP_URL",
        "NACRE_DATABASE", "NACRE_DATABASE_FILE", "NACRE_SECRET", "NACRE_SECRET_FILE",
        "OIDC_RP_CLIENT_ID", "OIDC_RP_CLIENT_SECRET", "OIDC_RP_CLIENT_SECRET_FILE", "OIDC_RP_SCOPES",
        "OIDC_RP_SIGN_ALGO", "OIDC_AUTH_REQUEST_EXTRA_PARAMS", "MOBILE_AUTH_CALLBACK_SCHEMES",
        "MOBILE_AUTH_CALLBACK_LINKS", "MOBILE_APPLE_APP_IDS", "MOBILE_ANDROID_APPS",
        "MOBILE_AUTH_TOKEN_TTL", "MOBILE_OTA_MANIFEST_URL", "SESSION_COOKIE_AGE", "SESSION_ABSOLUTE_AGE",
        "SESSION_REVALIDATE_AGE", "SESSION_GRACE_AGE", "SESSION_MAX_PER_PERSON",
    ]

    let variables: [String: String]

    /// An error about one variable. The value is not repeated: it may be a secret.
    func fault(_ name: String, _ reason: String) -> NacreError {
        NacreError("configuration.environment", "The environment variable \(name) \(reason)")
    }

    /// The value of `name`; nil when it is not set.
    func string(_ name: String) -> String? {
        assert(Self.names.contains(name), "\(name) is missing in EnvironmentReader.names")
        return variables[name]
    }

    /// The value of `name`, without meaning an empty one.
    func text(_ name: String) -> String? { string(name).flatMap { $0.isEmpty ? nil : $0 } }

    /// A whole number of seconds in `range`.
    func seconds(_ name: String, in range: ClosedRange<Int64>) throws(NacreError) -> Duration? {
        try integer(name, in: range, of: " of seconds").map { .seconds($0) }
    }

    /// A whole number in `range`; `unit` is what it counts.
    func integer(_ name: String, in range: ClosedRange<Int64>, of unit: String = "") throws(NacreError) -> Int64? {
        guard let text = text(name) else { return nil }
        guard let value = Int64(text), range.contains(value) else {
            throw fault(name, "must be a whole number\(unit) from \(range.lowerBound) to \(range.upperBound).")
        }
        return value
    }

    /// A JSON list of strings. An empty value is an empty list.
    func list(_ name: String) throws(NacreError) -> [String]? {
        guard let text = string(name) else { return nil }
        guard !text.isEmpty else { return [] }
        guard let items = (try? JSONParser.parse(text))?.array, case let texts = items.compactMap(\.string),
            texts.count == items.count
        else { throw fault(name, "must be a JSON list of strings, such as [\"stmessages\"].") }
        return texts
    }

    /// A JSON object of lists of strings.
    func lists(_ name: String) throws(NacreError) -> [String: [String]]? {
        guard let text = text(name) else { return nil }
        let wrong = fault(name, "must be a JSON object of lists, such as {\"org.example.app\": [\"AB:CD:…\"]}.")
        guard let members = (try? JSONParser.parse(text))?.object else { throw wrong }
        var result: [String: [String]] = [:]
        for (name, value) in members {
            guard let items = value.array, case let texts = items.compactMap(\.string), texts.count == items.count
            else { throw wrong }
            result[name] = texts
        }
        return result
    }

    /// A JSON object of strings.
    func object(_ name: String) throws(NacreError) -> [String: String]? {
        guard let text = text(name) else { return nil }
        guard let members = (try? JSONParser.parse(text))?.object,
            case let texts = members.compactMapValues(\.string), texts.count == members.count
        else { throw fault(name, "must be a JSON object of strings, such as {\"acr_values\": \"eidas1\"}.") }
        return texts
    }

    /// Variables that are not ours but look like a misspelling of one that is: what to say about each.
    var misspelled: [String] {
        variables.keys.sorted().compactMap { name in
            let ours = ["NACRE_", "OIDC_", "MOBILE_AUTH_", "SESSION_"].contains { name.hasPrefix($0) }
            guard ours, !Self.names.contains(name), let nearest = nearestWord(to: name, among: Self.names) else {
                return nil
            }
            return "\(name) is not a setting; did you mean \(nearest)?"
        }
    }
}

extension ServerConfiguration {
    /// One sentence for each environment variable that looks like a misspelled setting.
    public static func misspelled(in variables: [String: String]) -> [String] {
        EnvironmentReader(variables: variables).misspelled
    }
}
