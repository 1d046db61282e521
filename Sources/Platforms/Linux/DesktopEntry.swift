// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore

/// The `.desktop` file that makes the desktop start an app for its links, as text (Desktop Entry Specification 1.5).
package struct DesktopEntry: Sendable, Equatable {
    /// Application id; the file is called after it.
    package let applicationID: String
    package let name: String
    /// Program and arguments; the link is added at the end.
    package let command: [String]
    /// URI schemes whose links the app takes.
    package let schemes: [String]
    package let iconName: String

    /// The line by which an entry of ours is known again.
    static let marker = "X-Nacre-Development=true"

    /// The entry of a development run: `program run folder link`.
    /// - Throws: `desktop.invalid` when the id or a scheme cannot be written, or a path is not absolute.
    package static func forDevelopment(
        applicationID: String, name: String, schemes: [String], program: String, folder: String, iconName: String? = nil
    ) throws(NacreError) -> DesktopEntry {
        for path in [program, folder] where !path.hasPrefix("/") || path.contains(where: \.isNewline) {
            throw NacreError("desktop.invalid", "The path \(path) is not absolute; a desktop entry needs it whole.")
        }
        return try DesktopEntry(
            applicationID: applicationID, name: name, command: [program, "run", folder], schemes: schemes,
            iconName: iconName ?? applicationID)
    }

    /// - Throws: `desktop.invalid`, as above.
    package init(
        applicationID: String, name: String, command: [String], schemes: [String], iconName: String
    ) throws(NacreError) {
        guard Self.isFileName(applicationID) else {  // guard: desktop-entry-name
            throw NacreError(
                "desktop.invalid",
                "The application id \(applicationID) cannot name a file; use letters, digits, dots and hyphens.")
        }
        for scheme in schemes where !Self.isScheme(scheme) {
            throw NacreError(
                "desktop.invalid",
                "The scheme \(scheme) is not one (RFC 3986, lower case): a letter, then letters, digits, + - or dot.")
        }
        self.applicationID = applicationID
        self.name = name
        self.command = command
        self.schemes = schemes
        self.iconName = iconName
    }

    package var fileName: String { applicationID + ".desktop" }

    /// The file's text.
    package var text: String {
        let types = schemes.map { "x-scheme-handler/\($0);" }.joined()
        return """
            [Desktop Entry]
            Type=Application
            Name=\(Self.value(name))
            Exec=\(command.map(Self.argument).joined(separator: " ")) %u
            Icon=\(Self.value(iconName))
            Terminal=false
            NoDisplay=true
            StartupNotify=true
            StartupWMClass=\(applicationID)
            MimeType=\(types)
            \(Self.marker)

            """
    }

    /// One argument of `Exec`: quoted by that key's rules, then escaped as any string value.
    static func argument(_ text: String) -> String {
        var quoted = ""
        for character in text {
            switch character {
            case "\"", "`", "$", "\\": quoted += "\\\(character)"
            case "%": quoted += "%%"
            default: quoted.append(character)
            }
        }
        let plain =
            !text.isEmpty && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "/._-+:,@=".contains($0)) }
        return value(plain ? quoted : "\"\(quoted)\"")
    }

    /// A string value: no line breaks, no stray escapes, no leading space.
    static func value(_ text: String) -> String {
        var out = ""
        for character in text {
            switch character {
            case "\\": out += "\\\\"
            case "\n": out += "\\n"
            case "\r", "\r\n": out += "\\r"
            case "\t": out += "\\t"
            case " " where out.isEmpty: out += "\\s"
            default: out.append(character)
            }
        }
        return out
    }

    static func isScheme(_ text: String) -> Bool {
        guard let first = text.utf8.first, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first) else { return false }
        return text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
            case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."): true
            default: false
            }
        }
    }

    private static func isFileName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count < 200 && !text.hasPrefix(".")
            && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "._-".contains($0)) }
    }
}
