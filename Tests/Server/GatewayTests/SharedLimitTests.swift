// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreDatabase
import NacreGateway
import NacreHTTP
import NacreTesting
import Testing

@Suite("Limits of the gateway") struct SharedLimitTests {
    private let exchange = "/api/v1.0/mobile/auth/exchange/"

    private func guess(
        _ world: GatewayPair, _ gateway: Gateway, address: String, forwarded: String? = nil
    ) async throws -> HTTPResponse {
        var fields: HTTPFields = [:]
        if let forwarded { fields["X-Forwarded-For"] = forwarded }
        return try await world.browser(gateway, address: address).post(
            exchange, Array("{\"token\":\"guess\",\"code_verifier\":\"guess\"}".utf8), fields: fields)
    }

    @Test("HO-6: two gateways on one database share the twenty exchanges of a minute")
    func shared() async throws {
        let world = try await GatewayPair()
        for number in 0..<20 {
            let gateway = number % 2 == 0 ? world.first : world.second
            #expect(try await guess(world, gateway, address: "203.0.113.9").status == .forbidden)
        }
        for gateway in [world.first, world.second] {
            let refused = try await guess(world, gateway, address: "203.0.113.9")
            #expect(refused.status == .tooManyRequests)
            #expect(refused.fields["Retry-After"] == "3")
            #expect(try await refused.json()["code"] == "rate_limited")
        }
        #expect(try await guess(world, world.second, address: "203.0.113.10").status == .forbidden)
        world.time.advance(by: .seconds(3))
        #expect(try await guess(world, world.second, address: "203.0.113.9").status == .forbidden)
        #expect(try await guess(world, world.first, address: "203.0.113.9").status == .tooManyRequests)
    }

    @Test("X-Forwarded-For of a stranger is not believed; a proxy's is, from the right")
    func forwarded() async throws {
        let world = try await GatewayPair { $0.trustedProxies = ["10.0.0.1"] }
        for number in 0..<20 {
            // Not from the proxy: the field may say what it likes.
            let answer = try await guess(
                world, world.first, address: "203.0.113.9", forwarded: "198.51.100.\(number)")
            #expect(answer.status == .forbidden)
        }
        #expect(
            try await guess(world, world.second, address: "203.0.113.9", forwarded: "198.51.100.99").status
                == .tooManyRequests)
        // The client writes addresses in front of its own; the proxy appends the one it saw.
        #expect(
            try await guess(world, world.second, address: "10.0.0.1", forwarded: "198.51.100.7, 203.0.113.9").status
                == .tooManyRequests)
        #expect(
            try await guess(world, world.second, address: "10.0.0.1", forwarded: "203.0.113.9, 198.51.100.7").status
                == .forbidden)
    }

    @Test("One IPv6 network is one client")
    func network() async throws {
        let world = try await GatewayPair()
        for number in 0..<20 {
            #expect(try await guess(world, world.first, address: "2001:db8:1:2::\(number)").status == .forbidden)
        }
        #expect(try await guess(world, world.second, address: "2001:db8:1:2:a:b:c:d").status == .tooManyRequests)
        #expect(try await guess(world, world.second, address: "2001:db8:1:3::1").status == .forbidden)
    }

    @Test("Sign-ins that begin are counted over both processes")
    func departures() async throws {
        let world = try await GatewayPair { $0.departuresPerMinute = 6 }
        for number in 0..<6 {
            let browser = world.browser(number % 2 == 0 ? world.first : world.second)
            #expect(try await browser.send(.get, "/api/v1.0/authenticate/").status == .found)
        }
        for gateway in [world.first, world.second] {
            let refused = try await world.browser(gateway).send(.get, "/api/v1.0/authenticate/")
            #expect(refused.status == .tooManyRequests)
            #expect(refused.fields["Retry-After"] == "10")
        }
    }

    @Test("Refreshes are counted over both processes")
    func tokens() async throws {
        let world = try await GatewayPair { $0.tokensPerMinute = 4 }
        let body = Array("{\"refresh\":\"x\"}".utf8)
        for number in 0..<4 {
            let client = world.browser(number % 2 == 0 ? world.first : world.second)
            #expect(try await client.post("/api/token/refresh/", body).status == .unauthorized)
        }
        for path in ["/api/token/refresh/", "/api/token/blacklist/"] {
            let refused = try await world.browser(world.second).post(path, body)
            #expect(refused.status == .tooManyRequests)
            #expect(refused.fields["Retry-After"] == "15")
        }
    }
}

@Suite("A database in trouble signs nobody out") struct StorageTroubleTests {
    private let me = "/api/v1.0/users/me/"

    @Test(
        "A check that cannot read is a clear 503, and the cookie stays",
        arguments: ["database.busy", "database.io", "database.cannot_open", "database.corrupt", "database.unavailable"])
    func reads(code: String) async throws {
        let faults = FaultyDatabase()
        let world = try await GatewayPair(database: faults.database)
        try await world.first.prepare()
        let browser = try await world.signedIn(world.first)
        faults.fail(reads: code, writes: code)
        let answer = try await browser.send(.get, me)
        #expect(answer.status == .serviceUnavailable)
        #expect(answer.fields["Retry-After"] != nil)
        #expect(answer.fields["Set-Cookie"] == nil)
        #expect(try await answer.json()["code"] == "storage_unavailable")
        faults.fail(reads: nil, writes: nil)
        #expect(try await browser.send(.get, me).status == .ok)
    }

    @Test(
        "A database that is full, locked or read-only still lets a session in",
        arguments: ["database.busy", "database.disk_full", "database.read_only"])
    func touches(code: String) async throws {
        let faults = FaultyDatabase()
        let world = try await GatewayPair(database: faults.database)
        try await world.first.prepare()
        let browser = try await world.signedIn(world.first)
        world.time.advance(by: .seconds(600))
        faults.fail(reads: nil, writes: code)
        #expect(try await browser.send(.get, me).status == .ok)
        #expect(world.sink.events.contains("session.not_touched"))
    }

    @Test(
        "HO-13: a revalidation that cannot be noted spends no refresh token: 503, and later it goes on",
        arguments: ["database.busy", "database.disk_full", "database.read_only"])
    func revalidation(code: String) async throws {
        let faults = FaultyDatabase()
        let world = try await GatewayPair(database: faults.database)
        try await world.first.prepare()
        let browser = try await world.signedIn(world.first)
        world.time.advance(by: .seconds(12 * 3600))
        faults.fail(reads: nil, writes: code)
        let asked = world.provider.requests.count
        #expect(try await browser.send(.get, me).status == .serviceUnavailable)
        #expect(world.provider.requests.count == asked, "the provider was not asked")
        faults.fail(reads: nil, writes: nil)
        #expect(try await browser.send(.get, me).status == .ok)
    }

    @Test("A refresh that cannot be stored is 503 and the old token stays good")
    func refresh() async throws {
        let faults = FaultyDatabase()
        let world = try await GatewayPair(database: faults.database)
        try await world.first.prepare()
        let (_, refresh) = try await world.pair()
        let body = JSONValue.object(["refresh": .string(refresh)]).bytes
        faults.fail(reads: nil, writes: "database.disk_full")
        #expect(
            try await world.browser(world.first).post("/api/token/refresh/", body).status == .serviceUnavailable)
        faults.fail(reads: nil, writes: nil)
        #expect(try await world.browser(world.second).post("/api/token/refresh/", body).status == .ok)
    }

    @Test("Where nobody can tell whether a refresh was stored, that is said, and nobody is told to send it again")
    func unknown() async throws {
        let faults = FaultyDatabase()
        let world = try await GatewayPair(database: faults.database)
        try await world.first.prepare()
        let (_, refresh) = try await world.pair()
        let body = JSONValue.object(["refresh": .string(refresh)]).bytes
        faults.fail(reads: nil, writes: "database.commit_unknown")
        let answer = try await world.browser(world.first).post("/api/token/refresh/", body)
        #expect(answer.status == .serviceUnavailable)
        #expect(answer.fields["Retry-After"] == nil)
        #expect(try await answer.json()["code"] == "refresh_unknown")
        let other = try await world.browser(world.first).post("/api/token/blacklist/", body)
        #expect(other.status == .serviceUnavailable)
        #expect(other.fields["Retry-After"] == nil)
        #expect(try await other.json()["code"] == "storage_unknown")
        faults.fail(reads: nil, writes: nil)
        #expect(try await world.browser(world.second).post("/api/token/refresh/", body).status == .ok)
    }
}
