// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import COpenSSL
import Glibc
import NacreCore
import NacreHTTP
import Testing

@testable import NacreListener

/// What a small blocking TLS client saw.
struct TLSAnswer: Sendable {
    var text = ""
    var version = ""
    var protocolName = ""
    /// Whether the server ended with close_notify.
    var endedCleanly = false
    var handshook = false
}

/// Connects with OpenSSL on a thread of its own, sends, reads to the end.
func tlsExchange(
    port: Int, send text: String, alpn: String = "http/1.1", lowest: Int32 = TLS1_2_VERSION, highest: Int32 = 0
)
    async throws -> TLSAnswer
{
    let address = try await SocketAddress.resolve(host: "127.0.0.1", port: port)[0]
    return try await OwnThread.run(name: "tls-client") {
        var answer = TLSAnswer()
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        guard address.withSockaddr({ connect(descriptor, $0, $1) }) == 0 else { return .success(answer) }
        let context = SSL_CTX_new(TLS_client_method())
        defer { SSL_CTX_free(context) }
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(lowest), nil)
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(highest), nil)
        let ssl = SSL_new(context)
        defer { SSL_free(ssl) }
        let offer = [UInt8(alpn.utf8.count)] + Array(alpn.utf8)
        SSL_set_alpn_protos(ssl, offer, UInt32(offer.count))
        SSL_set_fd(ssl, descriptor)
        guard SSL_connect(ssl) == 1 else { return .success(answer) }
        answer.handshook = true
        answer.version = String(cString: SSL_get_version(ssl))
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        SSL_get0_alpn_selected(ssl, &name, &length)
        answer.protocolName = String(decoding: UnsafeBufferPointer(start: name, count: Int(length)), as: UTF8.self)
        let bytes = Array(text.utf8)
        SSL_write(ssl, bytes, Int32(bytes.count))
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = SSL_read(ssl, &buffer, 65_536)
            guard count > 0 else {
                answer.endedCleanly = SSL_get_error(ssl, count) == SSL_ERROR_ZERO_RETURN
                break
            }
            all += buffer[0..<Int(count)]
        }
        answer.text = String(decoding: all, as: UTF8.self)
        return .success(answer)
    }
}

extension ListenerSocketTests {
    @Suite("TLS")
    struct TLS {
        private static let get = "GET /s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"

        private func run(
            headTime: Duration? = nil, _ body: @escaping (ListenerWorld) async throws -> Void
        ) async throws {
            let identity = try TLSServerIdentity(
                certificatePEM: TestIdentity.certificate, privateKeyPEM: TestIdentity.key)
            try await ListenerWorld.run {
                $0.tls = identity
                if let headTime { $0.headTime = headTime }
            } respond: { request, _ in
                if request.target == "/big" {
                    return HTTPResponse(body: .bytes([UInt8](repeating: 120, count: 3_000_000)))
                }
                if request.target == "/echo" { return HTTPResponse(body: .stream(request.body.stream, length: nil)) }
                return HTTPResponse(body: .text("<\(request.url)>"))
            } body: {
                try await body($0)
            }
        }

        @Test("A request over TLS is answered and ends with close_notify")
        func roundTrip() async throws {
            try await run { world in
                let answer = try await tlsExchange(port: world.port, send: Self.get)
                #expect(answer.text.hasSuffix("<https://a/s>"), "\(answer)")
                #expect(answer.version == "TLSv1.3" && answer.protocolName == "http/1.1" && answer.endedCleanly)
                let older = try await tlsExchange(port: world.port, send: Self.get, highest: TLS1_2_VERSION)
                #expect(older.text.hasSuffix("<https://a/s>") && older.version == "TLSv1.2")
            }
        }

        @Test("Large bodies pass whole in both directions")
        func large() async throws {
            try await run { world in
                let down = try await tlsExchange(
                    port: world.port, send: "GET /big HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                #expect(down.text.utf8.count > 3_000_000 && down.endedCleanly)
                let body = String(repeating: "0123456789", count: 10_000)
                let up = try await tlsExchange(
                    port: world.port,
                    send: "POST /echo HTTP/1.0\r\nContent-Length: 100000\r\n\r\n" + body)
                #expect(up.text.hasSuffix(body) && up.endedCleanly)
            }
        }

        @Test("TLS 1.1, and a client that speaks only h2, are refused in the handshake")
        func refusedHandshakes() async throws {
            try await run { world in
                let old = try await tlsExchange(
                    port: world.port, send: Self.get, lowest: TLS1_1_VERSION, highest: TLS1_1_VERSION)
                #expect(!old.handshook)
                #expect(try await !tlsExchange(port: world.port, send: Self.get, alpn: "h2").handshook)
            }
        }

        @Test("Plain HTTP on a TLS port and a silent handshake end without an answer or a leak")
        func notTLS() async throws {
            try await run(headTime: .milliseconds(800)) { world in
                #expect(try await !world.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n").contains("HTTP/1.1"))
                let silent = try await world.connect()
                #expect(try await silent.readAll(until: .after(.seconds(60))) == "")
                #expect(try await world.descriptors(settleAt: 1) == 1)
            }
        }

        @Test("An identity that cannot be used says why and shows no key")
        func badIdentity() throws {
            for (certificate, key, word) in [
                ("nonsense", TestIdentity.key, "certificate"), (TestIdentity.certificate, "nonsense", "private key"),
                ("", "", "certificate"),
            ] {
                let error = #expect(throws: NacreError.self) {
                    try TLSServerIdentity(certificatePEM: certificate, privateKeyPEM: key)
                }
                #expect(error?.code == "tls.identity" && error?.message.contains(word) == true)
            }
            let identity = try TLSServerIdentity(
                certificatePEM: TestIdentity.certificate, privateKeyPEM: TestIdentity.key)
            #expect("\(identity)" == "TLSServerIdentity")
        }
    }
}
