// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import MessagesBackend
import NacreCommands
import NacreCore
import NacreCurl
import NacreHTTP
import NacreJOSE
import NacreListener

/// `nacre-demo backend`: the mail backend of the Messages example, to stand behind a gateway.
struct DemoCommand {
    private static let usage =
        "usage: nacre-demo backend --port PORT --data FOLDER --gateway ORIGIN [--seed FOLDER] [--generated-threads N]"

    private let port: Int
    private let data: String
    private let gateway: Origin
    private let seed: String
    private let generatedThreads: Int

    init(arguments: [String]) throws(NacreError) {
        guard arguments.first == "backend" else { throw NacreError("usage", Self.usage) }
        var options: [String: String] = [:]
        var rest = arguments.dropFirst()
        while let name = rest.popFirst() {
            guard name.hasPrefix("--"), let value = rest.popFirst() else { throw NacreError("usage", Self.usage) }
            options[String(name.dropFirst(2))] = value
        }
        let known = ["port", "data", "gateway", "seed", "generated-threads"]
        if let unknown = options.keys.first(where: { !known.contains($0) }) {
            throw NacreError("usage", "--\(unknown) is not an option. \(Self.usage)")
        }
        guard let port = options["port"].flatMap({ Int($0) }), let data = options["data"],
            let gateway = options["gateway"]
        else { throw NacreError("usage", Self.usage) }
        self.port = port
        self.data = data
        self.gateway = try Origin(gateway)
        seed = options["seed"] ?? "examples/messages/Backend/Seed"
        generatedThreads = options["generated-threads"].flatMap { Int($0) } ?? 0
    }

    func run() async throws {
        let log = Log(label: "messages", sink: StandardErrorSink())
        let signals = Interruption.begin()
        do {
            try FileManager.default.createDirectory(
                atPath: data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw NacreError(
                "demo.data", "The folder \(data) cannot be made; choose another with --data.", cause: error)
        }
        let keys = JWKSCache(
            url: WebURL(origin: gateway, target: "/.well-known/jwks.json"), transport: CurlTransport(),
            time: SystemTime())
        let verifier = GatewayIdentityVerifier(
            keys: keys, issuer: gateway.description, audience: "http://127.0.0.1:\(port)")
        let backend = try await MessagesBackend(
            configuration: MessagesBackend.Configuration(
                database: data + "/mail.sqlite", sampleMail: seed, generatedThreads: generatedThreads,
                publicOrigin: gateway.description, identityVerifier: verifier, remote: .curl(),
                log: log))
        let listener = HTTPListener(
            configuration: ListenerConfiguration(host: "127.0.0.1", port: port), responder: backend.responder, log: log)
        let bound = try await listener.start()
        log.info("backend.ready", ["port": JSONValue(bound)])
        for await _ in signals { break }
        await listener.stop(grace: .seconds(5))
    }
}
