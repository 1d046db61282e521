// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// Whether the machine has a network, and of which kind.
package struct NetworkStatus: Sendable, Equatable {
    /// The words of Capacitor's `Network`.
    package enum Kind: String, Sendable { case wifi, cellular, none, unknown }

    package let isConnected: Bool
    package let kind: Kind

    /// A status; without a network there is no kind.
    package init(isConnected: Bool, kind: Kind) {
        self.isConnected = isConnected
        self.kind = isConnected ? kind : .none
    }
}

/// The system's own idea of the network.
package protocol NetworkMonitor: Sendable {
    func status() async -> NetworkStatus
    /// Every change from now on; the present status is not among them.
    func changes() async -> AsyncStream<NetworkStatus>
}
