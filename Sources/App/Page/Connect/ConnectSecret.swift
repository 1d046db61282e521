// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP

/// The secret of one launch, as the proxy's Basic credentials: it keeps other programs of this machine out.
struct ConnectSecret: Sendable {
    /// The user name that goes with it.
    static let user = "app"
    /// The secret itself, for the web view's credential.
    let value: String
    private let expected: [UInt8]

    init(_ value: String) {
        self.value = value
        expected = Array(Base64.encode(Array("\(Self.user):\(value)".utf8)).utf8)
    }

    /// Whether a `Proxy-Authorization` value holds it; every wrong value of one length takes the same time.
    func matches(_ field: String) -> Bool {
        let parts = field.parts(at: " ")
        guard parts.count == 2, equalNames(parts[0], "basic") else { return false }
        return constantTimeEqual(Array(parts[1].utf8), expected)
    }
}
