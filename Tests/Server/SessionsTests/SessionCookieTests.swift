// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreSessions
import NacreTesting
import Testing

@Suite struct SessionCookieTests {
    private let handle = SeededRandom(1).token()

    @Test("HO-6: the cookie is HttpOnly, SameSite=Lax, and Secure on https")
    func attributes() {
        #expect(
            SessionCookie(secure: true).set("x", age: .seconds(30 * 86400))
                == "sessionid=x; Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax; Secure")
        #expect(SessionCookie(secure: false).removal == "sessionid=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax")
    }

    @Test func `a handle is found among other cookies; a contradiction is none`() {
        let cookie = SessionCookie(secure: false)
        #expect(cookie.handle(in: ["a=b; sessionid=\(handle); c=d"]) == handle)
        #expect(cookie.handle(in: ["a=b", "sessionid=\(handle)"]) == handle)
        #expect(cookie.handle(in: ["sessionid=\(handle); sessionid=\(SeededRandom(2).token())"]) == nil)
        #expect(cookie.handle(in: ["sessionid=short"]) == nil)
        #expect(cookie.handle(in: ["xsessionid=\(handle)"]) == nil)
        #expect(cookie.handle(in: []) == nil)
    }

    @Test func `our cookies are taken out and the others stay`() {
        #expect(CookieFields.text(["a=b; sessionid=x", "c=d=e"]) { $0 == "sessionid" } == "a=b; c=d=e")
        #expect(CookieFields.text(["sessionid=x"]) { $0 == "sessionid" } == nil)
    }

    @Test func `a CSRF token belongs to one session and never looks the same twice`() {
        let random = SeededRandom(5)
        let (secret, other) = (random.bytes(32), random.bytes(32))
        let token = CSRFToken.make(secret: secret, random: random)
        #expect(CSRFToken.isValid(token, secret: secret))
        #expect(CSRFToken.make(secret: secret, random: random) != token)
        #expect(!CSRFToken.isValid(token, secret: other))
        #expect(!CSRFToken.isValid(Base64URL.encode(secret), secret: secret))
        #expect(!CSRFToken.isValid("", secret: secret))
        #expect(!CSRFToken.isValid("", secret: []))
    }
}
