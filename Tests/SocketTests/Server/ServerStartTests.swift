// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCurl
import NacreHTTP
import NacreServer
import NacreTesting
import Testing

@Suite struct ServerStartTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A development server on these ports with a folder of its own.
    private func server(
        gateway: Int, provider: Int = 0, data: String, change: (inout ServerConfiguration) -> Void = { _ in }
    ) async throws -> NacreServer {
        let json: JSONValue = [
            "data": .string(data), "listen": ["port": JSONValue(gateway)],
            "provider": ["listen": ["port": JSONValue(provider)], "issuer": "http://localhost:8902"],
        ]
        var configuration = try ServerConfiguration(
            json: json, file: "nacre.server.json", environment: ["NACRE_ENV": "development"]
        ) { _ in "" }
        configuration.stopGrace = .seconds(1)
        change(&configuration)
        return try await NacreServer(configuration, log: .none)
    }

    @Test func `the server answers after its start, starts sign-in, and is gone after its stop`() async throws {
        let data = folder.file("data")
        let server = try await server(gateway: 0, data: data)
        let places = try await server.start()
        #expect(places.map(\.name) == ["gateway", "provider"])
        let transport = CurlTransport()
        let authority = "127.0.0.1:\(places[0].port)"
        #expect(try await transport.send(HTTPRequest(authority: authority, target: "/readyz")).status == .ok)
        let departure = try await transport.send(
            HTTPRequest(
                authority: authority,
                target: "/api/v1.0/authenticate/?mobile_scheme=stmessages&code_challenge="
                    + "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"))
        #expect(departure.fields["Location"]?.hasPrefix("http://localhost:8902/authorize?") == true)
        let discovery = try await transport.send(
            HTTPRequest(authority: "127.0.0.1:\(places[1].port)", target: "/.well-known/openid-configuration"))
        #expect(discovery.status == .ok)
        await server.stop()
        await #expect(throws: NacreError.self) {
            _ = try await CurlTransport().send(HTTPRequest(authority: authority, target: "/readyz"))
        }
    }

    @Test func `a taken port stops the start, named together with the option that changes it`() async throws {
        let data = folder.file("data")
        let first = try await server(gateway: 0, data: data + "/a")
        let port = try await first.start()[0].port
        let second = try await server(gateway: port, data: data + "/b")
        let error = await #expect(throws: NacreError.self) { _ = try await second.start() }
        #expect(error?.message.contains("\(port)") == true)
        #expect(error?.message.contains("\"listen.port\"") == true)
        let third = try await server(gateway: 0, provider: port, data: data + "/c")
        let other = await #expect(throws: NacreError.self) { _ = try await third.start() }
        #expect(other?.message.contains("\"provider.listen.port\"") == true)
        await first.stop()
    }
}
