// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// What `nacre init` says to the person.
package enum ProjectReport {
    private static let headings: [(ProjectNote.Kind, String)] = [
        (.carried, "carried over"), (.needless, "nothing to do"), (.lost, "not carried over"),
        (.look, "please look at"),
    ]

    /// One heading for each kind of note, one line for each note, the remedy on a line of its own.
    package static func text(_ project: ProjectInit) -> String {
        var lines = ["read: " + (project.sources.isEmpty ? "nothing" : project.sources.joined(separator: ", "))]
        for (kind, heading) in headings {
            let notes = project.notes.filter { $0.kind == kind }
            guard !notes.isEmpty else { continue }
            lines += ["", "\(heading):"]
            for note in notes {
                lines.append("  \(visible(note.key)): \(visible(note.reason))")
                if let remedy = note.remedy { lines.append("      → \(visible(remedy))") }
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// A project's own text must not move the terminal's cursor or turn its line round.
    private static func visible(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { scalar in
                    switch scalar.properties.generalCategory {
                    case .control, .format, .lineSeparator, .paragraphSeparator: "\u{FFFD}"
                    default: scalar
                    }
                }))
    }
}
