// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// What people call their devices in the list of sessions. Clients write it, so it is cleaned before it is kept.
package enum DeviceName {
    /// Longer names are cut.
    package static let maximumLength = 80

    /// The name on one line, without signs that nobody sees or that turn the text around; nil when nothing is left.
    package static func cleaned(_ text: String?) -> String? {
        guard let text else { return nil }
        var result = String.UnicodeScalarView()
        var isGap = false
        // A few bytes for each sign are enough; what is beyond them is not even looked at.
        for scalar in text.unicodeScalars.prefix(8 * maximumLength) {
            if scalar.properties.isWhitespace || scalar.properties.generalCategory == .control {
                isGap = !result.isEmpty
                continue
            }
            guard isShown(scalar) else { continue }  // guard: device-name-signs
            if isGap { result.append(" ") }
            isGap = false
            result.append(scalar)
        }
        let name = String(String(result).prefix(maximumLength))
        return name.isEmpty ? nil : name
    }

    private static func isShown(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: false
        // Pictures of several signs hold together by the zero-width joiner, a format sign; they come apart, harmlessly.
        default: true
        }
    }
}
