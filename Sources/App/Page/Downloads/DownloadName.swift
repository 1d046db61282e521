// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
package import NacreHTTP

/// What a downloaded file is called (NB-5): the server's word (RFC 6266, RFC 8187), else the page's, else the address's;
/// made into a name that every system can hold and that deceives nobody.
package enum DownloadName {
    /// The longest name in bytes; file systems end at 255, and a dialog may add to it.
    package static let limit = 180

    /// The name for an answer with these fields from `url`; `suggested` is a link's `download` attribute.
    ///
    /// - Parameters:
    ///   - fallback: where nobody says a name.
    package static func choose(
        fields: HTTPFields, url: WebURL?, suggested: String? = nil, fallback: String = "download"
    ) -> String {
        let last = url.flatMap { $0.path.split(separator: "/").last }
            .flatMap { PercentEncoding.decode($0) }
        let candidates = [ContentDisposition(fields["Content-Disposition"])?.filename, suggested, last]
        for candidate in candidates {
            if let candidate, let name = sanitize(candidate) {
                return withExtension(name, type: fields["Content-Type"])
            }
        }
        return withExtension(fallback, type: fields["Content-Type"])
    }

    /// A safe form of `text`, or nil when nothing is left of it.
    package static func sanitize(_ text: String) -> String? {
        // Only the last part of a path is a name, whatever system wrote it.
        let last = text.split { $0 == "/" || $0 == "\\" }.last.map(String.init) ?? ""  // guard: download-path
        var name = ""
        for scalar in last.unicodeScalars {
            if isDropped(scalar) { continue }  // guard: download-hidden-characters
            name.unicodeScalars.append(isForbidden(scalar) ? "_" : scalar)
        }
        // Dots and spaces at the ends hide files or vanish on other systems.
        name = trim(name)
        guard !name.isEmpty else { return nil }
        if isReserved(name) { name = "_" + name }  // guard: download-reserved-name
        return shorten(name)
    }

    /// Controls, and what changes direction or shows as nothing: `exe.\u{202E}fdp` would read as a PDF.
    private static func isDropped(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: true
        default: scalar == "\u{FFFD}"
        }
    }

    /// Characters that Windows or shells give a meaning.
    private static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
        ["<", ">", ":", "\"", "/", "\\", "|", "?", "*"].contains(scalar)
    }

    private static func trim(_ text: String) -> String {
        let isEdge = { (character: Character) in character == "." || character.isWhitespace }
        let start = text.drop(while: isEdge)
        guard let end = start.lastIndex(where: { !isEdge($0) }) else { return "" }
        return String(start[...end])
    }

    /// Names of devices on Windows, with any extension.
    private static func isReserved(_ name: String) -> Bool {
        let stem = trim(String(name.prefix { $0 != "." })).uppercased()
        if ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"].contains(stem) { return true }
        return stem.count == 4 && (stem.hasPrefix("COM") || stem.hasPrefix("LPT"))
            && "0123456789¹²³".contains(stem.last ?? "x")
    }

    /// Cut in the middle of the stem, so that the extension stays; never within a character.
    private static func shorten(_ name: String) -> String {
        guard name.utf8.count > limit else { return name }  // guard: download-long-name
        var ending = ""
        if let dot = name.lastIndex(of: "."), name[dot...].utf8.count <= 20 { ending = String(name[dot...]) }
        var stem = ""
        for character in name.dropLast(ending.count) {
            guard stem.utf8.count + character.utf8.count + ending.utf8.count <= limit else { break }
            stem.append(character)
        }
        return trim(stem) + ending
    }

    /// A name without an extension gets the usual one of its type, so that the desktop can open it.
    private static func withExtension(_ name: String, type: String?) -> String {
        guard !name.contains("."), let type else { return name }
        let essence = type.prefix { $0 != ";" }.trimmingSpaces().lowercased()
        guard let ending = MediaTypes.usualExtension(of: essence) else { return name }
        return "\(name).\(ending)"
    }
}

/// A `Content-Disposition` field (RFC 6266), read as leniently as browsers do.
package struct ContentDisposition: Sendable, Equatable {
    /// Whether the answer is to be saved, not shown: any type but `inline`.
    package let isAttachment: Bool
    /// `filename*` where it can be decoded, else `filename`; raw, not a safe name.
    package let filename: String?

    /// Nil where there is no such field.
    package init?(_ field: String?) {
        guard let field else { return nil }
        let parts = Self.split(field)
        let kind = parts.first.map { $0.trimmingSpaces().lowercased() } ?? ""
        isAttachment = kind != "inline" && !kind.isEmpty && !kind.contains("=")
        var plain: String?
        var extended: String?
        for part in kind.contains("=") ? parts[...] : parts.dropFirst() {
            guard let equals = part.firstIndex(of: "=") else { continue }
            let name = part[..<equals].trimmingSpaces().lowercased()
            let value = part[part.index(after: equals)...].trimmingSpaces()
            switch name {
            case "filename" where plain == nil: plain = Self.unquote(value)
            case "filename*" where extended == nil: extended = Self.decodeExtended(value)
            default: continue
            }
        }
        filename = extended ?? plain
    }

    /// The parameters, split at semicolons outside of quotes.
    private static func split(_ text: String) -> [String] {
        var parts: [[UInt8]] = [[]]
        var quoted = false
        var escaped = false
        for byte in text.utf8 {
            if escaped {
                escaped = false
            } else if quoted, byte == UInt8(ascii: "\\") {
                escaped = true
            } else if byte == UInt8(ascii: "\"") {
                quoted.toggle()
            } else if byte == UInt8(ascii: ";"), !quoted {
                parts.append([])
                continue
            }
            parts[parts.count - 1].append(byte)
        }
        return parts.map { String(decoding: $0, as: UTF8.self) }
    }

    private static func unquote(_ value: String) -> String {
        guard value.hasPrefix("\""), value.utf8.count >= 2 else { return decodePercent(value) }
        var out: [UInt8] = []
        var escaped = false
        for byte in value.utf8.dropFirst() {
            if escaped {
                escaped = false
                out.append(byte)
            } else if byte == UInt8(ascii: "\\") {
                escaped = true
            } else if byte == UInt8(ascii: "\"") {
                break
            } else {
                out.append(byte)
            }
        }
        return decodePercent(String(decoding: out, as: UTF8.self))
    }

    /// Some servers percent-encode the plain form too; browsers undo it where it makes sense.
    private static func decodePercent(_ text: String) -> String {
        text.contains("%") ? PercentEncoding.decode(text) ?? text : text
    }

    /// `charset'language'value` (RFC 8187): UTF-8 and ISO-8859-1.
    private static func decodeExtended(_ value: String) -> String? {
        let bare = value.hasPrefix("\"") && value.hasSuffix("\"") ? String(value.dropFirst().dropLast()) : value
        let parts = bare.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        switch parts[0].lowercased() {
        case "utf-8": return PercentEncoding.decode(parts[2])
        case "iso-8859-1":
            guard let bytes = PercentEncoding.decodeBytes(parts[2]) else { return nil }
            return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
        default: return nil
        }
    }
}
