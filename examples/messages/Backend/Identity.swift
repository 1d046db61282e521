// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// Who is signed in, as the gateway says.
public struct Identity: Hashable, Sendable {
    /// The provider that knows the person.
    public var issuer: String
    /// The person's stable identifier at that provider; never the email address.
    public var subject: String
    /// The email address, or empty.
    public var email: String
    /// The name to show, or empty.
    public var name: String

    /// An identity of these parts.
    public init(issuer: String, subject: String, email: String, name: String) {
        self.issuer = issuer
        self.subject = subject
        self.email = email
        self.name = name
    }
}

/// Checks the token that the gateway sends with each request.
public protocol IdentityVerifier: Sendable {
    /// The person named by `token`, the value of `X-Nacre-Identity`.
    ///
    /// - Throws: any error when the token is not the gateway's, not for this backend, or out of date.
    func identity(of token: String) async throws -> Identity
}
