// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// Size of the window as it was left, kept as three `key=value` lines. A damaged file is the same as none.
package struct WindowState: Equatable, Sendable {
    package var width: Int32
    package var height: Int32
    package var maximised: Bool

    package static let desktop = WindowState(width: 1080, height: 760, maximised: false)
    package static let phone = WindowState(width: 390, height: 844, maximised: false)

    package init(width: Int32, height: Int32, maximised: Bool) {
        self.width = width
        self.height = height
        self.maximised = maximised
    }

    /// Nil unless the size is one that a window can have.
    package init?(text: String) {
        var values: [Substring: Substring] = [:]
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else { return nil }
            values[parts[0]] = parts[1]
        }
        guard let width = values["width"].flatMap({ Int32($0) }), let height = values["height"].flatMap({ Int32($0) }),
            let maximised = values["maximised"].flatMap({ Bool(String($0)) }),
            (200...20_000).contains(width), (200...20_000).contains(height)
        else { return nil }
        self.init(width: width, height: height, maximised: maximised)
    }

    package var text: String { "width=\(width)\nheight=\(height)\nmaximised=\(maximised)\n" }
}
