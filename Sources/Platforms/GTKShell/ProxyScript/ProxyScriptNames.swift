// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import Dispatch
    import Glibc
    import Synchronization

    /// What a proxy configuration may ask of the network. IPv4, as its functions know nothing else.
    ///
    /// A name whose server is slow counts as unknown after a second: the resolver's own patience is longer than anybody's
    /// who waits for a page, and would end scripts that are in order. It is asked to the end on a thread of its own, so
    /// that the next question finds the answer, or at once that there is none yet.
    final class ProxyScriptNames: Sendable {
        typealias LookUp = @Sendable (_ host: String) -> String?

        /// How many names are under way at most.
        private static let mostUnderWay = 8
        private static let mostKnown = 256

        private struct State {
            var known: [String: (address: String?, at: ContinuousClock.Instant)] = [:]
            var underWay: Set<String> = []
            var left: Double
        }

        private let limit: Double
        private let total: Double
        private let lifetime: Duration
        private let lookUp: LookUp
        private let state: Mutex<State>

        /// - Parameters:
        ///   - limit: the seconds that a name may take.
        ///   - total: the seconds that all names of one question may take.
        ///   - lifetime: for how long an address is good, and that there is none.
        ///   - lookUp: finds an address, and may block.
        init(
            limit: Double = 1, total: Double = 2, lifetime: Duration = .seconds(10),
            lookUp: @escaping LookUp = { ProxyScriptNames.resolve($0) }
        ) {
            self.limit = limit
            self.total = total
            self.lifetime = lifetime
            self.lookUp = lookUp
            state = Mutex(State(left: total))
        }

        /// Another question begins.
        func begin() { state.withLock { $0.left = total } }

        private enum Step { case known(String?), wait(Double) }

        /// The first address of a host, such as `192.0.2.7`; nil where there is none, or not in time.
        func address(of host: String) -> String? {
            let start = ContinuousClock.now
            let step = state.withLock { state -> Step in
                if let known = state.known[host], start - known.at < lifetime { return .known(known.address) }
                guard state.left > 0, state.underWay.count < Self.mostUnderWay, state.underWay.insert(host).inserted
                else { return .known(nil) }
                return .wait(min(limit, state.left))
            }
            guard case .wait(let wait) = step else {
                if case .known(let address) = step { return address }
                return nil
            }
            let done = DispatchSemaphore(value: 0)
            // A queue of its own has a thread of its own, so that no slow name holds another up.
            DispatchQueue(label: "nacre-proxy-name").async { [self] in
                let found = lookUp(host)
                state.withLock { state in
                    if state.known.count >= Self.mostKnown { state.known = [:] }
                    state.known[host] = (found, .now)
                    state.underWay.remove(host)
                }
                done.signal()
            }
            defer {
                let spent = (ContinuousClock.now - start) / .seconds(1)
                state.withLock { $0.left -= spent }
            }
            guard done.wait(timeout: .now() + wait) == .success else { return nil }  // guard: proxy-script-name-limit
            return state.withLock { $0.known[host]?.address }
        }
    }

    extension ProxyScriptNames {
        /// What the system's resolver finds first. It may take its time.
        static func resolve(_ host: String) -> String? {
            var hints = addrinfo()
            hints.ai_family = AF_INET
            hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
            var found: UnsafeMutablePointer<addrinfo>?
            guard getaddrinfo(host, nil, &hints, &found) == 0, let found else { return nil }
            defer { freeaddrinfo(found) }
            return text(found.pointee.ai_addr, found.pointee.ai_addrlen)
        }

        /// The address by which this machine would reach the outside; nothing is sent to find it.
        static func ownAddress() -> String {
            let none = "127.0.0.1"
            let socket = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
            guard socket >= 0 else { return none }
            defer { close(socket) }
            // An address of documentation (RFC 5737): only the route to it counts.
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = UInt16(9).bigEndian
            address.sin_addr.s_addr = UInt32(0xc000_0201).bigEndian
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            return withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                    guard connect(socket, pointer, size) == 0, getsockname(socket, pointer, &size) == 0 else {
                        return none
                    }
                    return text(pointer, size) ?? none
                }
            }
        }

        private static func text(_ address: UnsafeMutablePointer<sockaddr>, _ size: socklen_t) -> String? {
            var buffer = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            guard getnameinfo(address, size, &buffer, socklen_t(buffer.count), nil, 0, NI_NUMERICHOST) == 0 else {
                return nil
            }
            return buffer.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        }
    }
#endif
