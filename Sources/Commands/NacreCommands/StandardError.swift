// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation

/// Standard error, for the person at the terminal.
package enum StandardError {
    /// One plain sentence on a line of its own.
    package static func say(_ text: String) { write(text + "\n") }

    /// Without the end of the line, for a question.
    package static func write(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
}
