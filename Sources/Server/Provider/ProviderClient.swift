// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
public import NacreCrypto
import NacreHTTP
import NacreJOSE

/// An application that signs people in through the provider.
public struct ProviderClient: Sendable {
    /// The client identifier.
    public var id: String
    /// The secret of a confidential client; nil makes it public, which must use PKCE.
    public var secret: String?
    /// The name people see on the form.
    public var name: String
    /// Where codes may go: compared character for character. A public client's `http://127.0.0.1/…` and `http://[::1]/…`
    /// take any port (RFC 8252 section 7.3).
    public var redirectURIs: [String]
    /// Where a sign-out may lead back to: compared character for character.
    public var postLogoutRedirectURIs: [String] = []
    /// Where it hears that a session is over (OpenID Connect Back-Channel Logout 1.0): https, or http on this machine.
    /// Nil when it does not want to hear it. Only whoever configures the provider sets it, so it may well be an address of
    /// a private network; it is called without following redirects.
    public var backchannelLogoutURI: String?
    /// The algorithm of its ID tokens, and of its logout tokens.
    public var idTokenAlgorithm: SignatureAlgorithm = .es256

    /// A client of these parts.
    public init(id: String, secret: String?, name: String, redirectURIs: [String]) {
        self.id = id
        self.secret = secret
        self.name = name
        self.redirectURIs = redirectURIs
    }

    var isPublic: Bool { secret == nil }

    /// Whether a code may go to this address.
    func allows(redirect: String) -> Bool {
        // Swift's `==` takes a Kelvin sign for a K.
        // guard: provider-redirect-exact
        if redirectURIs.contains(where: { areIdentical($0, redirect) }) { return true }
        guard isPublic, let asked = try? WebURL(redirect), asked.origin.scheme == "http" else { return false }
        let loopback: Set<String> = ["127.0.0.1", "[::1]"]
        guard loopback.contains(asked.origin.host), !redirect.contains("#") else { return false }
        return redirectURIs.contains { registered in
            guard let own = try? WebURL(registered), own.origin.scheme == "http" else { return false }
            return own.origin.host == asked.origin.host && own.target == asked.target
        }
    }

    /// - Throws: `provider.configuration` that says what is wrong.
    package func validate() throws(NacreError) {
        func fault(_ message: String) -> NacreError {
            NacreError("provider.configuration", "The client \"\(id)\" \(message)")
        }
        guard !id.isEmpty, id.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw fault("needs an identifier of visible ASCII characters.")
        }
        guard secret.map({ !$0.isEmpty }) ?? true else { throw fault("has an empty secret; leave it out instead.") }
        for uri in redirectURIs + postLogoutRedirectURIs {
            guard uri.contains(":"), !uri.contains("#"), uri.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
                throw fault("has a redirect address that is not an absolute URI without a fragment: \(uri)")
            }
        }
        guard let backchannelLogoutURI else { return }
        let url = try? WebURL(backchannelLogoutURI)
        // guard: provider-logout-uri
        guard let url, !backchannelLogoutURI.contains("#"), url.origin.scheme == "https" || url.origin.isLoopback else {
            throw fault("has a back-channel logout address that is neither https nor on this machine.")
        }
    }
}
