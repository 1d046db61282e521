// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreBridge
package import NacreCore
package import NacrePorts

/// Who makes room for the keyboard (SH-9), by Capacitor's words.
package enum KeyboardResize: String, Sendable, CaseIterable {
    /// The page's box shrinks, once.
    case native
    /// The box stays; the page is told by `--keyboard`.
    case none
    /// The page's body, or its `ion-app`, shrinks.
    case body, ionic
}

/// What the page knows of the screen around it (SH-5), and the keyboard's effect on it (SH-9).
package actor PageSurface {
    private let box: any PageBox
    private let events: any BridgeEvents
    private var state: SurfaceState
    private var mode = KeyboardResize.native
    private var laidOut: [Int] = []
    private var observers: [AsyncStream<JSONValue>.Continuation] = []

    package init(_ first: SurfaceState = SurfaceState(), box: any PageBox, events: any BridgeEvents) {
        state = first
        self.box = box
        self.events = events
    }

    package var resize: KeyboardResize { mode }
    package var top: Double { state.top }

    /// The values that the page's script turns into variables of the root element.
    ///
    /// The keyboard covers what is at the lower edge, so that the lower inset is none while it is there; where the box
    /// itself has shrunk, nothing of the page is covered.
    package var value: JSONValue {
        let covered = state.keyboard
        return [
            "top": .number(state.top), "right": .number(state.right), "left": .number(state.left),
            "bottom": .number(covered > 0 ? 0 : state.bottom), "keyboard": .number(mode == .none ? covered : 0),
            "resize": .string(mode.rawValue), "covered": .number(covered),
        ]
    }

    /// Every change of `value` from now on.
    package func changes() -> AsyncStream<JSONValue> {
        let (stream, continuation) = AsyncStream<JSONValue>.makeStream()
        observers.append(continuation)
        return stream
    }

    package func setResize(_ mode: KeyboardResize) async {
        self.mode = mode
        await tell()
    }

    /// A new state of the screen.
    package func apply(_ next: SurfaceState) async {
        let height: JSONValue = ["keyboardHeight": .number(next.keyboard)]
        let event: String? =
            if next.keyboard == state.keyboard { nil } else { next.keyboard > 0 ? "Show" : "Hide" }
        if let event { await keyboardEvent("keyboardWill" + event, event == "Show" ? height : [:]) }
        state = next
        await tell()
        if let event { await keyboardEvent("keyboardDid" + event, event == "Show" ? height : [:]) }
    }

    package func hideKeyboard() async {
        guard state.keyboard > 0 else { return }
        var next = state
        next.keyboard = 0
        await apply(next)
    }

    /// Plays the steps of a profile.
    package func play(_ profile: DeviceProfile, time: any TimeSource) async throws {
        await tell()
        for step in profile.steps {
            try await time.sleep(for: step.after)
            await apply(step.state)
        }
    }

    private func tell() async {
        if let width = state.width, let height = state.height {
            let place = [width, height, mode == .native ? Int(state.keyboard) : 0]
            if place != laidOut {
                laidOut = place
                await box.layout(width: place[0], height: place[1], keyboard: place[2])
            }
        }
        let now = value
        for observer in observers { observer.yield(now) }
        await events.emit(NacrePlugin.pluginName, NacrePlugin.surfaceEvent, now)
    }

    /// To listeners, and, as Capacitor's own keyboard does, to the window.
    private func keyboardEvent(_ event: String, _ data: JSONValue) async {
        await events.emit(KeyboardPlugin.pluginName, event, data)
        await events.trigger(event, on: "window", data)
    }
}

extension BridgeEvents {
    /// Fires an event of the page itself, on `document` or `window`.
    func trigger(_ event: String, on target: String, _ data: JSONValue = [:]) async {
        await emit(
            NacrePlugin.pluginName, NacrePlugin.triggerEvent,
            ["name": .string(event), "target": .string(target), "data": data])
    }
}
