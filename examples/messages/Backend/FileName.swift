// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreHTTP

/// Attachment names as other people send them, made fit to show and to save under.
enum FileName {
    /// The name without folders, control characters and the invisible marks that reverse the reading order.
    static func safe(_ name: String) -> String {
        let last = name.split(whereSeparator: { $0 == "/" || $0 == "\\" || $0.isNewline }).last ?? ""
        var kept = String.UnicodeScalarView()
        for scalar in last.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse: continue  // guard: file-name
            default: kept.append(scalar == "\"" || scalar == ";" ? "_" : scalar)
            }
        }
        let text = String(kept).trimmingSpaces()
        if text.isEmpty || text.allSatisfy({ $0 == "." }) { return "attachment" }
        guard text.count > 120 else { return text }
        let dot = text.lastIndex(of: ".") ?? text.endIndex
        let ending = text[dot...].count <= 10 ? text[dot...] : ""
        return String(text.prefix(120 - ending.count)) + ending
    }

    /// The value of `Content-Disposition` (RFC 6266) for a safe name.
    static func disposition(_ name: String, inline: Bool) -> String {
        let ascii = String(name.unicodeScalars.map { $0.isASCII ? Character($0) : "_" })
        return "\(inline ? "inline" : "attachment"); filename=\"\(ascii)\"; "
            + "filename*=UTF-8''\(PercentEncoding.encode(name))"
    }
}
