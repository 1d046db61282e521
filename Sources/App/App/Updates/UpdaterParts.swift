// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
import NacreHTTP
package import NacreUpdates
import NacreWire

/// Starts an updater: which bundle is served is decided when this returns.
package typealias UpdaterStart =
    @Sendable (UpdateSettings, UpdateFolders, UpdateParts, Log) async throws -> any AppUpdater

extension AppUpdates {
    /// The updater over the system's disk.
    package static let updater: UpdaterStart = { settings, folders, parts, log in
        await Updater.start(settings: settings, folders: folders, parts: parts, log: log)
    }
}

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

    /// Where the manifest is; nil where the server names none.
    ///
    /// - Throws: `update.config` when the server cannot be asked.
    func source() async throws(NacreError) -> UpdateSource? {
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

    private func ask() async throws -> UpdateSource? {
        let request = HTTPRequest(
            .get, WebURL(origin: api, target: Self.path), fields: ["Accept": "application/json"])
        let response = try await transport.send(request)
        guard response.status.rawValue == 200 else {
            throw NacreError(
                "update.config",
                "The server answered \(response.status.rawValue) when it was asked which releases to follow.")
        }
        let body = try await response.body.collect(upTo: Self.largest)
        let answer = try JSONParser.parse(body)
        return try ConfigResponse(json: answer).updateManifest.map {
            UpdateSource(manifestURL: $0, freshness: answer["MOBILE_OTA_FRESHNESS"])
        }
    }
}
