// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCommands
import NacreCore
import NacreServer

/// `nacre admin`: looks after an installation, also while its server runs.
struct AdminCommand {
    static let usage = """
        usage: nacre admin sessions [list] [--user USER] [--limit N]
               nacre admin sessions end ID... | --user USER | --all
               nacre admin users [list]
               nacre admin users add NAME --email ADDRESS [--given-name G] [--family-name F] [--locale L]
               nacre admin users set-password NAME           (asked for, or one line of standard input)
               nacre admin users remove NAME
               nacre admin migrate [--check]
               nacre admin backup FILE
               nacre admin restore FILE [--force]
               nacre admin rotate-keys [identity] [tokens] [provider] [--stolen]
        everywhere: [--config FILE] [--data FOLDER] [--json]
        """

    private let words: [String]
    private let options: [String: String]
    private let flags: Set<String>
    private let administration: Administration

    /// Reads arguments, file and environment.
    ///
    /// - Throws: `usage` or `configuration.*`.
    init(arguments: [String], environment: [String: String]) throws(NacreError) {
        var rest = arguments[...]
        guard let first = rest.first, !["help", "--help", "-h"].contains(first) else {
            throw NacreError("usage", Self.usage)
        }
        let settings = try ServerSettings(&rest, environment, usage: Self.usage)
        var words: [String] = []
        var options: [String: String] = [:]
        var flags: Set<String> = []
        while let word = rest.popFirst() {
            switch word {
            case "--json", "--all", "--force", "--check", "--stolen": flags.insert(word)
            case "--user", "--limit", "--email", "--given-name", "--family-name", "--locale":
                guard let value = rest.popFirst() else { throw Self.fault("\(word) needs a value.") }
                options[word] = value
            default:
                guard !word.hasPrefix("-") else { throw Self.fault("\(word) is not an option.") }
                words.append(word)
            }
        }
        (self.words, self.options, self.flags) = (words, options, flags)
        administration = Administration(
            settings.configuration, log: Log(label: "admin", minimum: .warning, sink: StandardErrorSink()))
    }

    private static func fault(_ reason: String) -> NacreError { NacreError("usage", "\(reason)\n\(usage)") }

    /// Does it and prints what came of it.
    func run() async throws {
        let answer = try await perform()
        print(flags.contains("--json") ? answer.text : AdminText.text(answer))
    }

    private func perform() async throws -> JSONValue {
        let rest = Array(words.dropFirst())
        switch words.first {
        case "sessions": return try await sessions(rest)
        case "users": return try await users(rest)
        case "migrate":
            try take(rest, 0, flags: ["--check"])
            return try await flags.contains("--check") ? administration.schema() : administration.migrate()
        case "backup":
            try take(rest, 1)
            return try await administration.backup(to: rest[0])
        case "restore":
            try take(rest, 1, flags: ["--force"])
            return try await administration.restore(from: rest[0], force: flags.contains("--force"))
        case "rotate-keys":
            try take([], 0, flags: ["--stolen"])
            return try await administration.rotateKeys(rest, stolen: flags.contains("--stolen"))
        default: throw Self.fault("\(words.first ?? "") is not a task of admin.")
        }
    }

    private func sessions(_ words: [String]) async throws -> JSONValue {
        switch words.first ?? "list" {
        case "list":
            try take(Array(words.dropFirst()), 0, options: ["--user", "--limit"])
            let limit = options["--limit"].map { Int($0) ?? 0 } ?? 1000
            guard limit > 0 else { throw Self.fault("--limit takes a number from 1 on.") }
            return try await administration.listSessions(user: options["--user"], limit: limit)
        case "end":
            let ids = Array(words.dropFirst())
            try take([], 0, options: ["--user"], flags: ["--all"])
            let ways = [!ids.isEmpty, options["--user"] != nil, flags.contains("--all")].filter { $0 }.count
            guard ways == 1 else { throw Self.fault("sessions end takes sessions, or --user, or --all.") }
            return try await ids.isEmpty
                ? administration.endAllSessions(user: options["--user"]) : administration.endSessions(ids)
        default: throw Self.fault("\(words[0]) is nothing to do with sessions.")
        }
    }

    private func users(_ words: [String]) async throws -> JSONValue {
        let names = Array(words.dropFirst())
        switch words.first ?? "list" {
        case "list":
            try take(names, 0)
            return try await administration.listUsers()
        case "add":
            try take(names, 1, options: ["--email", "--given-name", "--family-name", "--locale"])
            guard let email = options["--email"], email.contains("@") else {
                throw Self.fault("users add needs --email and an address.")
            }
            return try await administration.addUser(
                names[0], password: try PasswordInput.read(), email: email,
                givenName: options["--given-name"] ?? names[0],
                familyName: options["--family-name"] ?? "", locale: options["--locale"] ?? "en")
        case "set-password":
            try take(names, 1)
            return try await administration.setPassword(try PasswordInput.read(), of: names[0])
        case "remove":
            try take(names, 1)
            return try await administration.removeUser(names[0])
        default: throw Self.fault("\(words[0]) is nothing to do with users.")
        }
    }

    /// Nothing is overlooked: a word or an option that does not belong to the task is an error.
    private func take(
        _ words: [String], _ count: Int, options known: [String] = [], flags knownFlags: [String] = []
    ) throws(NacreError) {
        guard words.count == count else {
            throw Self.fault(count == 0 ? "\(words[0]) does not belong here." : "The task takes \(count) name.")
        }
        let foreign =
            options.keys.filter { !known.contains($0) }
            + flags.filter { $0 != "--json" && !knownFlags.contains($0) }
        if let name = foreign.sorted().first { throw Self.fault("\(name) does not belong to this task.") }
    }
}

/// An answer for people: lists as tables, the rest as lines.
enum AdminText {
    static func text(_ answer: JSONValue) -> String {
        guard let members = answer.object else { return plain(answer) }
        return members.keys.sorted().compactMap { key -> String? in
            guard let value = members[key], !value.isNull else { return nil }
            guard let items = value.array, items.allSatisfy({ $0.object != nil }) else {
                return "\(key): \(plain(value))"
            }
            return items.isEmpty ? "\(key): none" : "\(key):\n" + table(items.compactMap(\.object))
        }.joined(separator: "\n")
    }

    private static func table(_ rows: [[String: JSONValue]]) -> String {
        let columns = Set(rows.flatMap(\.keys)).sorted()
        let cells = [columns] + rows.map { row in columns.map { plain(row[$0] ?? .null) } }
        let widths = columns.indices.map { column in cells.map { $0[column].count }.max() ?? 0 }
        return cells.map { row in
            let line = zip(row, widths).map { $0.padding(toLength: max($1, $0.count), withPad: " ", startingAt: 0) }
            return "  " + line.joined(separator: "  ")
        }.joined(separator: "\n")
    }

    private static func plain(_ value: JSONValue) -> String {
        switch value {
        case .null: "-"
        case .string(let text): text
        case .array(let items): items.map(plain).joined(separator: ", ")
        case .object(let members):
            members.keys.sorted().map { "\($0) \(plain(members[$0] ?? .null))" }.joined(separator: ", ")
        default: value.text
        }
    }
}
