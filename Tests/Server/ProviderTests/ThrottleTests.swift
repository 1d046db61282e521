// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreDatabase
import NacreHTTP
import NacreTesting
import Testing

@Suite("Wrong passwords")
struct ThrottleTests {
    @Test("After ten wrong passwords an account answers 429 with Retry-After, to the right password too")
    func perAccount() async throws {
        let world = try await ProviderWorld()
        for number in 0..<10 {
            let browser = world.browser(address: "192.0.2.\(number)")
            let answer = try await browser.submit(try await browser.authorize(), password: "wrong")
            #expect(answer.status.rawValue == 422)
        }
        let browser = world.browser(address: "192.0.2.99")
        let page = try await browser.authorize()
        world.time.advance(by: .seconds(20))
        let answer = try await browser.submit(page)
        #expect(answer.status == .tooManyRequests)
        #expect(answer.fields["Retry-After"] == "40")
        #expect(answer.text.contains("wait a minute"))
        #expect(answer.isForm)
        #expect(try await world.browser().signIn(username: "bruno", password: "bruno-password-1").member("code") != nil)
        world.time.advance(by: .seconds(40))
        #expect(try await browser.submit(page).member("code") != nil)
    }

    @Test("A lock never keeps out a device that the account knows, and the device has a limit of its own")
    func knownDevice() async throws {
        let world = try await ProviderWorld()
        let known = world.browser(address: "192.0.2.1")
        _ = try await known.signIn()
        let page = try await known.authorize(["prompt": "login"])
        for number in 0..<40 {
            let browser = world.browser(address: number % 2 == 0 ? "192.0.2.1" : "192.0.2.\(number)")
            _ = try await browser.submit(try await browser.authorize(), password: "wrong")
        }
        #expect(try await known.submit(page).member("code") != nil)
        for _ in 0..<10 { #expect(try await known.submit(page, password: "wrong").status.rawValue == 422) }
        #expect(try await known.submit(page).status == .tooManyRequests)
    }

    @Test("A device that knows one account gets no favour for another")
    func foreignDevice() async throws {
        let world = try await ProviderWorld()
        let browser = world.browser()
        _ = try await browser.signIn()
        let page = try await browser.authorize(["prompt": "login"])
        for _ in 0..<10 { _ = try await browser.submit(page, username: "bruno", password: "wrong") }
        let answer = try await browser.submit(page, username: "bruno", password: "bruno-password-1")
        #expect(answer.status == .tooManyRequests)
    }

    @Test("One address has thirty tries over all accounts, unknown ones included")
    func perAddress() async throws {
        let world = try await ProviderWorld()
        let browser = world.browser()
        let page = try await browser.authorize()
        for number in 0..<30 {
            #expect(
                try await browser.submit(page, username: "user\(number)", password: "wrong").status.rawValue == 422)
        }
        #expect(try await browser.submit(page).status == .tooManyRequests)
        let elsewhere = world.browser(address: "198.51.100.1")
        #expect(try await elsewhere.signIn().member("code") != nil)
    }

    @Test("An IPv6 network has the thirty tries of one address")
    func perNetwork() async throws {
        let world = try await ProviderWorld()
        for number in 0..<30 {
            let browser = world.browser(address: "2001:db8:1:2::\(number)")
            _ = try await browser.submit(try await browser.authorize(), username: "user\(number)", password: "wrong")
        }
        let browser = world.browser(address: "2001:db8:1:2:a:b:c:d")
        #expect(try await browser.submit(try await browser.authorize()).status == .tooManyRequests)
        #expect(try await world.browser(address: "2001:db8:1:3::1").signIn().member("code") != nil)
    }

    @Test("Right passwords do not use tries up")
    func givenBack() async throws {
        let world = try await ProviderWorld()
        for _ in 0..<40 { #expect(try await world.browser().signIn().member("code") != nil) }
    }

    @Test("Guesses at the same time do not slip through")
    func parallel() async throws {
        let world = try await ProviderWorld()
        let browser = world.browser()
        let page = try await browser.authorize()
        let judged = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<60 {
                group.addTask {
                    try await browser.submit(page, password: "wrong-\(number)").status.rawValue == 422 ? 1 : 0
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(judged == 10)
    }

    @Test("Two providers on one database count together")
    func twoProcesses() async throws {
        let world = try await ProviderWorld()
        let other = try await ProviderWorld(database: world.database)
        for number in 0..<10 {
            let browser = number % 2 == 0 ? world.browser(address: "192.0.2.\(number)") : other.browser()
            let answer = try await browser.submit(try await browser.authorize(), password: "wrong")
            #expect(answer.status.rawValue == 422)
        }
        let browser = other.browser(address: "192.0.2.99")
        #expect(try await browser.submit(try await browser.authorize()).status == .tooManyRequests)
    }

    @Test("One session is answered in silence sixty times a minute, then its browser and its programs are told to wait")
    func silent() async throws {
        let world = try await ProviderWorld()
        let other = try await ProviderWorld(database: world.database)
        let browser = world.browser()
        _ = try await browser.signIn()
        let twin = other.browser()
        twin.cookies = browser.cookies
        for number in 0..<60 {
            let answer = try await (number % 2 == 0 ? browser : twin).authorize(
                number % 3 == 0 ? ["prompt": "none"] : [:])
            #expect(answer.member("code") != nil, "\(number)")
        }
        let page = try await browser.authorize()
        #expect(page.status == .tooManyRequests && page.fields["Retry-After"] == "1")
        #expect(page.location == nil && page.text.contains("wait a minute"))
        let silent = try await twin.authorize(["prompt": "none"])
        #expect(silent.member("error") == "temporarily_unavailable" && silent.member("code") == nil)
        #expect(silent.member("state") == "state-1")
        // Another session is not held up, and a form is not counted.
        #expect(try await world.browser(address: "192.0.2.2").signIn().member("code") != nil)
        #expect(try await browser.authorize(["prompt": "login"]).isForm)
        world.time.advance(by: .seconds(1))
        #expect(try await browser.authorize().member("code") != nil)
        #expect(try await browser.authorize().status == .tooManyRequests)
    }

    @Test("An account remembers its twenty newest devices and none older than a year")
    func devices() async throws {
        let world = try await ProviderWorld()
        func count() async throws -> Int {
            try await world.database.read { sql in try sql.query("SELECT id FROM provider_device").count }
        }
        for _ in 0..<25 {
            _ = try await world.browser().signIn()
            world.time.advance(by: .seconds(60))
        }
        #expect(try await count() == 20)
        world.time.advance(by: .seconds(366 * 86_400))
        _ = try await world.browser().signIn()
        #expect(try await count() == 1)
    }

    @Test("Names and passwords of no sane length are just wrong")
    func lengths() async throws {
        let world = try await ProviderWorld()
        let browser = world.browser()
        let page = try await browser.authorize()
        for (name, password) in [
            ("", "x"), ("alice", ""), (String(repeating: "a", count: 300), "x"),
            ("alice", String(repeating: "x", count: 2000)), ("zoltan", String(repeating: "x", count: 2000)),
            // Cut to 1024 bytes it would end within a letter.
            ("zoltan", String(repeating: "x", count: 1023) + "ééé"),
        ] {
            #expect(try await browser.submit(page, username: name, password: password).status.rawValue == 422)
        }
    }
}
