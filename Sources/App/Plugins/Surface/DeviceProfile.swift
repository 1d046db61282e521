// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore

/// What of the page the system covers, in CSS pixels, and how large the page is.
package struct SurfaceState: Sendable, Equatable {
    package var width: Int?
    package var height: Int?
    package var top = 0.0
    package var right = 0.0
    package var bottom = 0.0
    package var left = 0.0
    /// The height of the keyboard on the screen; 0 while there is none.
    package var keyboard = 0.0

    /// Nothing is covered.
    package init() {}
}

/// A device played by a script: sizes, insets and keyboard over time (SH-5, SH-9), for development.
package struct DeviceProfile: Sendable, Equatable {
    package struct Step: Sendable, Equatable {
        /// How long after the step before.
        package let after: Duration
        package let state: SurfaceState
    }

    package let name: String
    /// Whether the page is told of a touch screen; nil leaves it to the system.
    package let touch: Bool?
    /// The state of the first paint.
    package let first: SurfaceState
    /// What follows once the page is there.
    package let steps: [Step]

    /// Reads a profile.
    ///
    /// - Throws: `profile.*`, `configuration.*` or `json.malformed`, each naming the place.
    package init(parsing text: String, file: String) throws(NacreError) {
        var reader = try ConfigurationReader(try JSONParser.parse(text), file: file)
        name = try reader.requiredString("name", example: "Phone with a cutout")
        touch = try reader.bool("touch")
        guard let list = reader.value("steps")?.array, !list.isEmpty, list.count <= 1000 else {
            throw reader.fault("steps", "must be a list of one to 1000 steps.")
        }
        try reader.finish()
        var state = SurfaceState()
        var steps: [Step] = []
        for (index, value) in list.enumerated() {
            let place = "steps[\(index)]"
            func fault(_ what: String) -> NacreError { NacreError("profile.step", "\(file): \(place) \(what)") }
            guard let members = value.object else { throw fault("must be an object.") }
            for name in members.keys where !["after", "size", "insets", "keyboard"].contains(name) {
                throw fault("knows after, size, insets and keyboard, not \(name).")
            }
            func pixels(_ value: JSONValue?, _ what: String) throws(NacreError) -> Double {
                guard let number = value?.real, (0...10_000).contains(number) else {
                    throw fault("\(what) is a number of CSS pixels.")
                }
                return number
            }
            if let size = members["size"] {
                guard let pair = size.array, pair.count == 2 else { throw fault("size is [width, height].") }
                state.width = Int(try pixels(pair[0], "size"))
                state.height = Int(try pixels(pair[1], "size"))
            }
            if let insets = members["insets"] {
                guard let sides = insets.object,
                    sides.keys.allSatisfy({ ["top", "right", "bottom", "left"].contains($0) })
                else {
                    throw fault("insets has top, right, bottom and left.")
                }
                state.top = try pixels(sides["top"] ?? 0, "insets.top")
                state.right = try pixels(sides["right"] ?? 0, "insets.right")
                state.bottom = try pixels(sides["bottom"] ?? 0, "insets.bottom")
                state.left = try pixels(sides["left"] ?? 0, "insets.left")
            }
            if let keyboard = members["keyboard"] { state.keyboard = try pixels(keyboard, "keyboard") }
            guard let after = (members["after"] ?? 0).real, (0...600_000).contains(after) else {
                throw fault("after is a number of milliseconds.")
            }
            steps.append(Step(after: .milliseconds(Int64(after)), state: state))
        }
        first = steps[0].state
        self.steps = Array(steps.dropFirst())
    }
}
