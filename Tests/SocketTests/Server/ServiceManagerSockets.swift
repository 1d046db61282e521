// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CLinux
import Foundation
import NacreCore
import NacreCurl
import NacreHTTP
import NacreListener
import NacreRouting
import Testing

@testable import NacreServer

@Suite struct ServiceManagerSockets {
    private func listening() throws -> (descriptor: Int32, port: Int) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        try #require(descriptor >= 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, size) == 0 && listen(descriptor, 16) == 0
                    && getsockname(descriptor, pointer, &size) == 0
            }
        }
        try #require(bound)
        return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
    }

    @Test func `a socket that listens already is taken over; who connected before the start is answered`() async throws
    {
        let (descriptor, port) = try listening()
        // Waits in the backlog until somebody serves it.
        let early = Task {
            try await CurlTransport().send(HTTPRequest(authority: "127.0.0.1:\(port)", target: "/")).status
        }
        try await Task.sleep(for: .milliseconds(100))
        var configuration = ListenerConfiguration()
        configuration.inherited = descriptor
        let listener = HTTPListener(
            configuration: configuration, responder: ClosureResponder { _, _ in .json(["ok": true]) }, log: .none)
        #expect(try await listener.start() == port)
        #expect(try await early.value == .ok)
        #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
        await listener.stop(grace: .seconds(1))
        await #expect(throws: NacreError.self) {
            _ = try await CurlTransport().send(HTTPRequest(authority: "127.0.0.1:\(port)", target: "/"))
        }
    }

    @Test func `a descriptor that does not listen is said`() async throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var configuration = ListenerConfiguration()
        configuration.inherited = descriptor
        let listener = HTTPListener(
            configuration: configuration, responder: ClosureResponder { _, _ in .json([:]) }, log: .none)
        let error = await #expect(throws: NacreError.self) { _ = try await listener.start() }
        #expect(error?.code == "listener.inherited")
        await listener.stop(grace: .zero)
    }

    @Test(arguments: [false, true])
    func `the service manager hears of start and stop at its socket`(_ abstract: Bool) throws {
        let path =
            abstract ? "@nacre-\(UUID().uuidString)" : NSTemporaryDirectory() + "n-\(UUID().uuidString.prefix(8))"
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { bytes in
            bytes.copyBytes(from: path.utf8)
            if abstract { bytes[0] = 0 }
        }
        let size = socklen_t(MemoryLayout<sa_family_t>.size + path.utf8.count)
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
        }
        try #require(bound == 0)
        defer { if !abstract { unlink(path) } }
        let manager = try ServiceManager(environment: ["NOTIFY_SOCKET": path], process: 1)
        func heard() -> String {
            var buffer = [UInt8](repeating: 0, count: 200)
            let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
        }
        manager.ready("serving")
        #expect(heard().hasPrefix("READY=1\n"))
        manager.alive()
        #expect(heard().hasPrefix("WATCHDOG=1\n"))
        manager.stopping()
        #expect(heard().hasPrefix("STOPPING=1\n"))
    }
}
