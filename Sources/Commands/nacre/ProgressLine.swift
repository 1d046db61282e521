// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCommands
import Synchronization

/// Progress on standard error: one line that changes on a terminal, a line for each finished phase elsewhere.
final class ProgressLine: Sendable {
    private struct State {
        var phase = ""
        var percent = -1
        var isOpen = false
    }
    private let state = Mutex(State())
    private let isTerminal = isatty(STDERR_FILENO) != 0

    func show(_ phase: String, _ part: Double) {
        let percent = Int((min(max(part, 0), 1) * 100).rounded(.down))
        state.withLock { state in
            guard state.phase != phase || state.percent != percent else { return }
            let isNew = state.phase != phase
            (state.phase, state.percent) = (phase, percent)
            if isTerminal {
                if isNew, state.isOpen { StandardError.write("\n") }
                StandardError.write("\r\u{1B}[K\(phase): \(percent) %")
                state.isOpen = percent < 100
                if percent == 100 { StandardError.write("\n") }
            } else if percent == 100 {
                StandardError.say("\(phase): done")
            }
        }
    }

    func say(_ text: String) {
        state.withLock { state in
            if state.isOpen { StandardError.write("\n") }
            state.isOpen = false
            StandardError.say(text)
        }
    }
}
