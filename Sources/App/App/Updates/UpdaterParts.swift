// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreHTTP
package import NacreUpdates
import NacreWire

/// What an updater stands on.
package struct UpdaterParts: Sendable {
    package let settings: UpdateSettings
    package let folders: UpdateFolders
    /// Without a session and without cookies.
    package let transport: any HTTPTransport
    /// The address of the channel's manifest, as the server says it now (UP-1); nil turns updates off.
    package let manifest: @Sendable () async throws(NacreError) -> String?
    /// Whether a sign-in or sign-out is in flight (HO-10).
    package let isHeld: @Sendable () -> Bool
    package let host: any UpdateHost
    package let time: any TimeSource
    package let random: any RandomSource
    package let log: Log
}

/// Starts an updater: which bundle is served is decided when this returns.
package typealias UpdaterStart = @Sendable (UpdaterParts) async throws -> any AppUpdater

/// What updates ask of the window.
package struct UpdateWindow: Sendable {
    /// Takes the page away, calls `swap` with the id of the last page load, clears service workers and caches, and loads the
    /// app's start page. Without a window it only calls `swap`.
    package let replacePage: @Sendable (_ swap: @escaping @Sendable (_ last: UInt64) async -> Void) async -> Void
    /// The page again.
    package let reload: @Sendable () async -> Void
    /// Ends this process gracefully and starts the app again.
    package let restart: @Sendable () async -> Void

    package init(
        replacePage: @escaping @Sendable (_ swap: @escaping @Sendable (_ last: UInt64) async -> Void) async -> Void,
        reload: @escaping @Sendable () async -> Void, restart: @escaping @Sendable () async -> Void
    ) {
        self.replacePage = replacePage
        self.reload = reload
        self.restart = restart
    }
}

/// Asks the server which channel this app follows (UP-1).
struct UpdateChannel: Sendable {
    static let path = "/api/v1.0/config/"
    private static let largest = 1 << 16

    let api: Origin
    let transport: any HTTPTransport
    let time: any TimeSource
    var limit: Duration = .seconds(15)

    /// The address of the manifest; nil where the server names none.
    ///
    /// - Throws: `update.config` when the server cannot be asked.
    func manifest() async throws(NacreError) -> String? {
        do {
            return try await withTimeLimit(
                limit, time: time, timeout: { NacreError("update.config", "The server does not answer.") },
                operation: { try await ask() })
        } catch let error as NacreError where error.code == "update.config" {
            throw error
        } catch {
            throw NacreError(
                "update.config", "The server could not be asked which releases to follow; the next check asks again.",
                cause: error)
        }
    }

    private func ask() async throws -> String? {
        let request = HTTPRequest(
            .get, WebURL(origin: api, target: Self.path), fields: ["Accept": "application/json"])
        let response = try await transport.send(request)
        guard response.status.rawValue == 200 else {
            throw NacreError(
                "update.config",
                "The server answered \(response.status.rawValue) when it was asked which releases to follow.")
        }
        let body = try await response.body.collect(upTo: Self.largest)
        return try ConfigResponse(json: JSONParser.parse(body)).updateManifest
    }
}
