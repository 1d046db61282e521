// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore
public import NacreRouting

/// Where a listener listens and what a client may cost.
public struct ListenerConfiguration: Sendable {
    /// The address or name to bind. Default loopback.
    public var host = "127.0.0.1"
    /// The port; 0 takes a free one, nil listens nowhere (sockets are handed in).
    public var port: Int? = 0
    /// A listening socket that a service manager has bound already; it is used instead of host and port, and closed in the
    /// end. Default none.
    public var inherited: Int32?
    /// The certificate to serve TLS with; nil serves plain HTTP.
    public var tls: TLSServerIdentity?
    /// Event-loop threads. Default 1.
    public var loops = 1
    /// Sizes of what comes before a body.
    public var parsing = ParsingLimits()
    /// From the first byte of a request to the end of its head, however slowly the bytes drip; also for the TLS handshake
    /// and for the first byte of a new connection. Default 10 s.
    public var headTime: Duration = .seconds(10)
    /// How long a connection may stand idle between requests. Default 60 s.
    public var idleTime: Duration = .seconds(60)
    /// How long a request body may stand still while the handler waits for it. Default 60 s.
    public var bodyStall: Duration = .seconds(60)
    /// How long a client may refuse to take bytes of a response. Default 60 s.
    public var writeStall: Duration = .seconds(60)
    /// How much of a request body that nobody wants is still taken after its answer, and for how long: a client that sends all
    /// before it reads would otherwise never see the answer. Default 4 MB, 2 s.
    public var linger: (bytes: Int, time: Duration) = (4 * 1024 * 1024, .seconds(2))
    /// The least at which bodies must move, either way: a request that does not is answered 408 and closed, a response cut
    /// off. Event streams and upgraded connections may be silent. Default none.
    public var bodyPace: BodyPace?
    /// Connections at once; one more is answered 503 and closed. Default 8192.
    public var connections = 8192
    /// Connections at once from one client network (an IPv4 address, 64 bits of an IPv6 address); one more is answered 429 and
    /// closed. Default none.
    public var connectionsPerClient: Int?
    /// Proxies: behind their addresses stand many clients, so that `connectionsPerClient` does not count them.
    public var trustedProxies: [AddressRange] = []
    /// The clock of the Date field and of the grace at stopping.
    public var time: any TimeSource = SystemTime()

    /// The defaults.
    public init() {}

    /// The defaults at this address.
    public init(host: String, port: Int?, tls: TLSServerIdentity? = nil) {
        self.host = host
        self.port = port
        self.tls = tls
    }
}
