// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreHTTP
import Testing

@testable import NacreGateway

@Suite("Cookies of the upstream") struct UpstreamCookieTests {
    @Test(
        "a Set-Cookie is read as browsers read it, by bytes",
        arguments: [
            ("theme=dark; Path=/", true), ("sessionid=x", false), (" sessionid =x", false), ("nacre_a=1", false),
            ("__Host-nacre_a=1", false), ("csrftoken=x", false), ("=sessionid=x", false), ("sessionid", false),
            // A mark behind the semicolon makes one longer character of it, for Swift and for nobody else.
            ("sessionid;\u{301}x=1", false), ("\u{600};theme=1", false), ("theme=\u{600}; Path=/", true),
        ])
    func incoming(value: String, passes: Bool) {
        let cookies = OwnCookies(session: "sessionid", token: "csrftoken")
        #expect(cookies.incoming([value], hasSession: true).count == (passes ? 1 : 0))
    }
}
