// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CLinux
public import NacreCore

/// What a service manager such as systemd hands to the process, and what it wants to hear.
///
/// Sockets come as descriptors from 3 on (sd_listen_fds(3)); news go as datagrams to `NOTIFY_SOCKET` (sd_notify(3)).
/// Without a service manager every part of it does nothing.
public struct ServiceManager: Sendable {
    /// The parts that can be given a socket, by the names of `FileDescriptorName=`.
    static let parts = ["gateway", "provider", "metrics"]

    /// Listening sockets by the part they are for.
    let sockets: [String: Int32]
    private let notifyPath: String?
    /// How often it wants a sign of life; nil when it does not.
    public let watchdog: Duration?

    /// No service manager.
    public init() {
        sockets = [:]
        notifyPath = nil
        watchdog = nil
    }

    /// What these variables say to the process `process`.
    ///
    /// - Throws: `service.sockets` when sockets came whose part nobody knows.
    public init(environment: [String: String], process: Int32) throws(NacreError) {
        notifyPath = environment["NOTIFY_SOCKET"].flatMap { $0.isEmpty ? nil : $0 }
        let isOurs = { (name: String) in environment[name].map { Int32($0) == process } }
        watchdog =
            isOurs("WATCHDOG_PID") ?? true
            ? environment["WATCHDOG_USEC"].flatMap { Int64($0) }.flatMap { $0 > 0 ? .microseconds($0) : nil } : nil
        var sockets: [String: Int32] = [:]
        // Variables meant for a parent that did not take them out name descriptors that are not ours.
        if isOurs("LISTEN_PID") ?? false, let count = environment["LISTEN_FDS"].flatMap({ Int32($0) }), count > 0 {
            let names = (environment["LISTEN_FDNAMES"] ?? "").split(separator: ":", omittingEmptySubsequences: false)
            for index in 0..<min(count, 64) {
                let name = index < names.count ? String(names[Int(index)]) : ""
                // One socket without a name of ours is the gateway's.
                let part = Self.parts.contains(name) ? name : count == 1 ? "gateway" : name
                guard Self.parts.contains(part), sockets[part] == nil else {
                    throw NacreError(
                        "service.sockets",
                        "The service manager passed a socket named \"\(name)\"; write FileDescriptorName=gateway, provider "
                            + "or metrics, each once, into the socket units.")
                }
                sockets[part] = 3 + index
            }
        }
        self.sockets = sockets
    }

    /// Says that the start is over.
    public func ready(_ status: String) { say("READY=1\nSTATUS=\(status)\n") }

    /// Says that the stop has begun.
    public func stopping() { say("STOPPING=1\nSTATUS=stopping\n") }

    /// The sign of life.
    public func alive() { say("WATCHDOG=1\n") }

    private func say(_ text: String) {
        guard let notifyPath else { return }
        // A manager that does not listen is no reason to stop serving.
        _ = nacre_notify(notifyPath, text)
    }
}
