// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacrePlugins
import NacrePorts
import NacreSignIn
import NacreWire

/// What a person hands to somebody who is to help: versions, where things stand, the last faults and the last lines of the
/// log. It is text that they can read before they send it; nothing is sent by the app.
struct ProblemReport: Sendable {
    let app: String
    let id: String
    let versions: String
    let device: DeviceFacts
    let session: SessionSnapshot
    /// Everybody who was signed in while the lines were written.
    let people: [UserProfile]
    let faults: [String]
    let lines: [String]
    /// Why this bundle runs, and why not another; nil where the app has no updates over the air.
    var updates: JSONValue?
    /// Whose folder must not be named.
    let home: String

    var text: String {
        let folder = home.hasSuffix("/") ? String(home.dropLast()) : home
        // Who has signed out since is in the lines still.
        let everybody = people + [session.profile].compactMap { $0 }  // guard: report-everybody
        let own = [folder] + everybody.flatMap { [$0.id, $0.email, $0.fullName].compactMap { $0 } }
        let cleaner = ReportText(personal: own)
        let engine = device.webViewVersion.map { "; web engine \($0)" } ?? ""
        let fault = session.error.map { "; \($0.code)" } ?? ""
        let head = [
            "Problem report of \(app) (\(id))",
            versions,
            "\(device.systemName) \(device.systemVersion); \(device.manufacturer) \(device.model)\(engine); \(device.language)",
            "session \(session.state.rawValue)\(session.reason.map { " (\($0.rawValue))" } ?? "")\(fault); server "
                + "\(session.server.rawValue); kept in \(session.keptIn.rawValue)",
        ]
        let why = updates.map { section("Updates", Self.lines(of: $0), cleaner) } ?? []
        return (head + why + section("Last faults", faults, cleaner) + section("Last lines of the log", lines, cleaner))
            .joined(separator: "\n") + "\n"
    }

    /// An object member by member, a list in it element by element.
    private static func lines(of value: JSONValue) -> [String] {
        guard let members = value.object else { return value.isNull ? [] : [value.text] }
        return members.sorted { $0.key < $1.key }.flatMap { name, value -> [String] in
            guard let items = value.array else { return ["\(name): \(value.string ?? value.text)"] }
            return items.isEmpty ? [] : ["\(name):"] + items.map { "  " + ($0.string ?? $0.text) }
        }
    }

    private func section(_ title: String, _ lines: [String], _ cleaner: ReportText) -> [String] {
        ["", "\(title): \(lines.isEmpty ? "none" : "")"] + lines.map(cleaner.clean)
    }
}
