// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// Size of the window and zoom of the page as they were left, kept as `key=value` lines. A damaged file is the same as none.
package struct WindowState: Equatable, Sendable {
    package var width: Int32
    package var height: Int32
    package var maximised: Bool
    /// How much larger than usual the page is shown.
    package var zoom: Double

    /// What a person may zoom to.
    package static let zooms = 0.5...3.0

    package static let desktop = WindowState(width: 1080, height: 760, maximised: false)
    package static let phone = WindowState(width: 390, height: 844, maximised: false)

    package init(width: Int32, height: Int32, maximised: Bool, zoom: Double = 1) {
        self.width = width
        self.height = height
        self.maximised = maximised
        self.zoom = zoom
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
        // Files of earlier versions have none; a damaged one costs the zoom and nothing else.
        let zoom = values["zoom"].flatMap { Double(String($0)) } ?? 1
        self.init(
            width: width, height: height, maximised: maximised, zoom: Self.zooms.contains(zoom) ? zoom : 1)
    }

    package var text: String { "width=\(width)\nheight=\(height)\nmaximised=\(maximised)\nzoom=\(zoom)\n" }
}
