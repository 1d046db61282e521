// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CLinux
package import NacreCore

/// An IPv4 or IPv6 address with a port.
package struct SocketAddress: Hashable, Sendable {
    /// The `sockaddr` as the kernel takes it.
    let bytes: [UInt8]

    init(_ pointer: UnsafePointer<sockaddr>, length: socklen_t) {
        bytes = Array(UnsafeRawBufferPointer(start: pointer, count: Int(length)))
    }

    /// The addresses of a host, by the system's resolver on a thread of its own.
    ///
    /// - Throws: `socket.resolve` that names the host.
    package static func resolve(host: String, port: Int, passive: Bool = false) async throws(NacreError)
        -> [SocketAddress]
    {
        guard (0...65535).contains(port) else {
            throw NacreError("socket.resolve", "\(port) is not a port; use 0 to 65535.")
        }
        let bare = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
        return try await OwnThread.run(name: "nacre-resolve") { lookUp(bare, port, passive) }
    }

    private static func lookUp(_ host: String, _ port: Int, _ passive: Bool) -> Result<[SocketAddress], NacreError> {
        var list: UnsafeMutablePointer<addrinfo>?
        let code = nacre_resolve(host, "\(port)", passive ? 1 : 0, &list)
        defer { if let list { freeaddrinfo(list) } }
        var addresses: [SocketAddress] = []
        var next = code == 0 ? list : nil
        while let entry = next {
            if let address = entry.pointee.ai_addr {
                addresses.append(SocketAddress(address, length: entry.pointee.ai_addrlen))
            }
            next = entry.pointee.ai_next
        }
        guard !addresses.isEmpty else {
            let why = code == 0 ? "no address" : String(cString: gai_strerror(code))
            return .failure(NacreError("socket.resolve", "The host \(host) cannot be found (\(why)); check the name."))
        }
        return .success(addresses)
    }

    var family: Int32 { withSockaddr { pointer, _ in Int32(pointer.pointee.sa_family) } }

    func withSockaddr<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        var storage = sockaddr_storage()
        return withUnsafeMutableBytes(of: &storage) { raw in
            raw.copyBytes(from: bytes)
            return body(raw.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
        }
    }

    /// The numeric host, such as `127.0.0.1` or `::1`.
    package var host: String { numeric.host }
    /// The port.
    package var port: Int { numeric.port }

    private var numeric: (host: String, port: Int) {
        withSockaddr { pointer, length in
            var host = [CChar](repeating: 0, count: 64)
            var port = [CChar](repeating: 0, count: 8)
            let flags = NI_NUMERICHOST | NI_NUMERICSERV
            guard getnameinfo(pointer, length, &host, 64, &port, 8, Int32(flags)) == 0 else { return ("", 0) }
            return (string(host), Int(string(port)) ?? 0)
        }
    }

    /// The address in network order: 4 or 16 bytes, an IPv4-mapped IPv6 address as 4.
    package var octets: [UInt8] {
        if family == AF_INET { return Array(bytes[4..<8]) }
        guard family == AF_INET6, bytes.count >= 24 else { return [] }
        let octets = Array(bytes[8..<24])
        let mapped = octets[0..<10].allSatisfy { $0 == 0 } && octets[10] == 255 && octets[11] == 255
        return mapped ? Array(octets[12...]) : octets
    }

    /// Whether it is reachable only from this machine or its own network: loopback, link-local, private, unspecified.
    package var isLocalOrPrivate: Bool {
        let octets = octets
        if octets.count == 4 {
            switch (octets[0], octets[1]) {
            case (0, _), (10, _), (127, _), (169, 254), (192, 168): return true
            case (172, 16...31), (100, 64...127): return true
            default: return false
            }
        }
        guard octets.count == 16 else { return true }
        if octets[0..<15].allSatisfy({ $0 == 0 }) { return true }  // :: and ::1
        return octets[0] & 0xFE == 0xFC || (octets[0] == 0xFE && octets[1] & 0xC0 == 0x80)
    }

    /// The address at the other end of a connected socket.
    static func peer(of descriptor: Int32) -> SocketAddress? { name(of: descriptor, getpeername) }

    /// The address at this end of a socket.
    static func local(of descriptor: Int32) -> SocketAddress? { name(of: descriptor, getsockname) }

    private static func name(
        of descriptor: Int32,
        _ call: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> SocketAddress? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard call(descriptor, address, &length) == 0 else { return nil }
                return SocketAddress(address, length: length)
            }
        }
    }

    private func string(_ characters: [CChar]) -> String {
        String(decoding: characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
