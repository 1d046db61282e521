// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import Glibc

    /// What a proxy configuration may ask of the network. IPv4, as its functions know nothing else.
    enum ProxyScriptNames {
        /// The first address of a host, such as `192.0.2.7`.
        static func address(of host: String) -> String? {
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
