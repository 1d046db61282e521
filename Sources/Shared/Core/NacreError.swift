// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// What went wrong, in one shape for the whole toolkit.
///
/// The `message` is one sentence for a person and says what to do; the `code` is for programs and never changes meaning.
/// A message never holds a secret, a token or the body of a mail.
public struct NacreError: Error, Sendable {
    /// An open set of stable codes such as `configuration.unknown_key`.
    public struct Code: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
        /// The code as written in logs and answers: lower case words, joined by `_`, in dotted families.
        public let rawValue: String
        /// A code of this spelling.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// A code of this spelling.
        public init(stringLiteral value: String) { self.rawValue = value }
    }

    /// The stable code.
    public let code: Code
    /// One sentence for a person, with the remedy.
    public let message: String
    /// The error underneath, where there is one.
    public let cause: (any Error)?
    /// File and line where it was made, such as `NacreCurl/CurlLoop.swift:42`.
    public let place: String

    /// An error made here.
    public init(
        _ code: Code, _ message: String, cause: (any Error)? = nil, file: String = #fileID, line: Int = #line
    ) {
        self.code = code
        self.message = message
        self.cause = cause
        self.place = "\(file):\(line)"
    }
}

extension NacreError: CustomStringConvertible {
    /// `code: message (place)`, then the cause.
    public var description: String {
        let head = "\(code.rawValue): \(message) (\(place))"
        guard let cause else { return head }
        return "\(head); because: \(cause)"
    }
}
