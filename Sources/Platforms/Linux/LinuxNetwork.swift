// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CGLib
    package import NacrePorts
    import Synchronization

    /// The network by GNetworkMonitor, which asks NetworkManager, the portal in a sandbox, or the kernel's routes.
    package actor LinuxNetwork: NetworkMonitor {
        private nonisolated let thread = GLibThread(name: "nacre-network")
        private nonisolated let observers = Mutex<[AsyncStream<NetworkStatus>.Continuation]>([])
        private var isConnected = false

        package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

        package init() {}

        package func status() -> NetworkStatus { Self.now() }

        package func changes() -> AsyncStream<NetworkStatus> {
            connect()
            let (stream, continuation) = AsyncStream<NetworkStatus>.makeStream()
            observers.withLock { $0.append(continuation) }
            return stream
        }

        private static func now() -> NetworkStatus {
            let isAvailable = g_network_monitor_get_network_available(g_network_monitor_get_default()) != 0
            return NetworkStatus(isConnected: isAvailable, kind: LinuxRoute.kind())
        }

        private func connect() {
            guard !isConnected else { return }
            isConnected = true
            let handler: @convention(c) (OpaquePointer, gboolean, UnsafeMutableRawPointer) -> Void = { _, _, data in
                let network = Unmanaged<LinuxNetwork>.fromOpaque(data).takeUnretainedValue()
                let now = LinuxNetwork.now()
                network.observers.withLock { observers in
                    for observer in observers { observer.yield(now) }
                }
            }
            // For the life of the process, as the monitor itself.
            g_signal_connect_data(
                UnsafeMutableRawPointer(g_network_monitor_get_default()), "network-changed",
                unsafeBitCast(handler, to: GCallback.self), Unmanaged.passRetained(self).toOpaque(), nil,
                GConnectFlags(rawValue: 0))
        }
    }
#endif
