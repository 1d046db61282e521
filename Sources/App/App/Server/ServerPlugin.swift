// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreBridge
package import NacreCore
import NacreHTTP

/// Where an app keeps its choice of a server, and how it starts anew with another one.
package struct ServerSeat: Sendable {
    /// The folder of the choice.
    package let folder: String
    /// The choice at this start.
    package let choice: ServerChoice
    /// Ends this process and starts the app again.
    package let restart: @Sendable () async -> Void

    package init(folder: String, choice: ServerChoice, restart: @escaping @Sendable () async -> Void) {
        self.folder = folder
        self.choice = choice
        self.restart = restart
    }
}

/// Backs `nacre.server`, in apps whose server a person chooses. Everything of an app hangs on its server, so that each
/// change starts the app anew.
package struct ServerPlugin: BridgePlugin {
    package static let pluginName = "NacreServer"

    package let name = ServerPlugin.pluginName
    package let methods = ["choose", "change", "keep"].map { BridgeMethod($0) }
    private let configuration: AppConfiguration
    private let probe: ServerProbe
    private let seat: ServerSeat
    private let disk = WorkThreads(limit: 1)

    init(configuration: AppConfiguration, probe: ServerProbe, seat: ServerSeat) {
        self.configuration = configuration
        self.probe = probe
        self.seat = seat
    }

    package func call(_ method: String, options: JSONValue, call: BridgeCallContext) async throws -> JSONValue {
        if method == "change" {
            try await ask()
            return ["outcome": "asking"]
        }
        // The question's own page alone answers it: no script of an app binds it to a server by itself.
        guard configuration.needsServer else {  // guard: server-choose-asking
            throw NacreError("server.not_asked", "A person chooses the server; call nacre.server.change() to ask them.")
        }
        if method == "keep" {
            guard let known = seat.choice.origin else {
                throw NacreError("server.none", "No server was chosen before.")
            }
            try await keep(ServerChoice(origin: known, isAsking: false))
            return ["outcome": "kept"]
        }
        do throws(NacreError) {
            let origin = try ServerAddress.origin(
                of: options["address"]?.string ?? "", page: configuration.origin,
                isDevelopment: configuration.isDevelopment)
            try await probe.check(origin)
            try await keep(ServerChoice(origin: origin, isAsking: false))
            return ["outcome": "chosen", "origin": .string(origin.description)]
        } catch {
            let target = (error.cause as? ServerProbe.Moved)?.target
            return [
                "outcome": "refused", "code": .string(error.code.rawValue), "message": .string(error.message),
                "target": JSONValue(target?.description),
            ]
        }
    }

    /// Starts the app anew with the question. While it is asked already there is nothing to do.
    func ask() async throws {
        guard !configuration.needsServer else { return }
        try await keep(ServerChoice(origin: configuration.api, isAsking: true))
    }

    /// What the page's script knows of it from the start.
    package var facts: JSONValue {
        [
            "app": .string(configuration.name), "asking": .bool(configuration.needsServer),
            "origin": configuration.needsServer ? .null : .string(configuration.api.description),
            "proposal": JSONValue(configuration.proposedServer?.description), "known": .bool(seat.choice.origin != nil),
        ]
    }

    private func keep(_ choice: ServerChoice) async throws(NacreError) {
        let folder = seat.folder
        do {
            try await disk.run { try choice.keep(folder: folder) }
        } catch {
            throw NacreError("server.not_kept", "The choice cannot be kept; is the disk full?", cause: error)
        }
        // After this call's answer: the page is told before it goes.
        Task { [restart = seat.restart] in await restart() }
    }
}
