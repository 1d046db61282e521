// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Dispatch
import Foundation
package import NacreCore

/// Reads a password: an argument could be read by everybody on the machine, and what is shown on a terminal by everybody
/// in the room.
package enum PasswordInput {
    /// From a terminal, twice and unseen; from anything else the first line.
    ///
    /// - Throws: `usage` when there is none, `admin.password_differs`.
    package static func read() throws(NacreError) -> String {
        guard isatty(STDIN_FILENO) != 0 else { return try line() }
        let hidden = try HiddenTyping(STDIN_FILENO)
        defer { hidden.end() }
        let password = try ask("password: ")
        // Nobody has seen what was typed.
        guard try ask("once more: ") == password else {  // guard: password-twice
            throw NacreError("admin.password_differs", "The two passwords differ; nothing was changed.")
        }
        return password
    }

    private static func ask(_ question: String) throws(NacreError) -> String {
        StandardError.write(question)
        // The end of the line was not shown either.
        defer { StandardError.write("\n") }
        return try line()
    }

    private static func line() throws(NacreError) -> String {
        guard let line = readLine(), !line.isEmpty else {
            throw NacreError("usage", "The password is read from standard input, one line.")
        }
        return line
    }
}

/// A terminal that does not show what is typed (termios(3)), until `end` or until a signal ends or stops the process: then it
/// shows again, else the shell after us would be blind.
private struct HiddenTyping {
    private let terminal: Int32
    private let before: termios
    private let sources: [any DispatchSourceSignal]

    init(_ terminal: Int32) throws(NacreError) {
        var found = termios()
        guard tcgetattr(terminal, &found) == 0 else { throw Self.fault }
        let before = found
        var hidden = found
        hidden.c_lflag &= ~tcflag_t(ECHO)  // guard: password-echo
        self.terminal = terminal
        self.before = before
        let queue = DispatchQueue(label: "nacre.terminal")
        sources = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP].map { [hidden] number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler {
                Self.set(terminal, before)  // guard: password-signal
                guard number == SIGTSTP else {
                    signal(number, SIG_DFL)
                    kill(getpid(), number)
                    // Where no thread takes the signal, its number says the same.
                    exit(128 + number)
                }
                // To this very thread: it must not go on before the process stands still.
                raise(SIGSTOP)
                // In the foreground again.
                Self.set(terminal, hidden)
                StandardError.write("password: ")
            }
            source.resume()
            return source
        }
        guard tcsetattr(terminal, TCSAFLUSH, &hidden) == 0 else {
            end()
            throw Self.fault
        }
    }

    private static var fault: NacreError {
        NacreError("admin.terminal", "The terminal cannot be kept from showing the password; use a pipe instead.")
    }

    private static func set(_ terminal: Int32, _ settings: termios) {
        var settings = settings
        tcsetattr(terminal, TCSANOW, &settings)
    }

    func end() {
        Self.set(terminal, before)
        for source in sources { source.cancel() }
        for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP] { signal(number, SIG_DFL) }
    }
}
