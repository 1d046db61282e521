// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// Text that stands in an HTML page, between tags or in a quoted attribute.
public enum HTMLText {
    /// The text with the five characters that have a meaning there replaced.
    ///
    /// By scalars, since a mark followed by a combining one is another `Character` and still a mark to the parser.
    public static func escape(_ text: some StringProtocol) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
