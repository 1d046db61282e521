// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreTesting
import Synchronization
import Testing

@testable import MessagesBackend

@Suite("Remote images: how many and for how long", .timeLimit(.minutes(2)))
struct RemoteLimitTests {
    private static let place = "https://img.example/a.png"

    /// A server that answers once it is told to, and counts who waits.
    private final class Slow: Sendable {
        private let state = Mutex((waiting: 0, isOpen: false))
        var waiting: Int { state.withLock { $0.waiting } }
        func open() { state.withLock { $0.isOpen = true } }

        func images(_ time: ManualTime) -> RemoteImages {
            RemoteImages(
                access: RemoteAccess(
                    addresses: { _ in ["93.184.216.34"] },
                    send: { _, _ in
                        self.state.withLock { $0.waiting += 1 }
                        while !self.state.withLock({ $0.isOpen }) {
                            try Task.checkCancellation()
                            await Task.yield()
                        }
                        let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 1, 2, 3]
                        return HTTPResponse(fields: ["Content-Type": "image/png"], body: .bytes(png))
                    }), time: time)
        }
    }

    @Test("More than 32 at once are asked to come back, and there is room again afterwards")
    func count() async throws {
        let slow = Slow()
        let images = slow.images(ManualTime())
        let first = (1...RemoteImages.atOnce).map { _ in Task { try await images.image(at: Self.place).status } }
        try await until { slow.waiting == RemoteImages.atOnce }
        // With room for it this one would wait like the others; so they are let go only once it has been judged, or waits.
        let surplus = Task { try await images.image(at: Self.place).status }
        let judged = Mutex(false)
        let watch = Task {
            _ = try? await surplus.value
            judged.withLock { $0 = true }
        }
        try await until { judged.withLock { $0 } || slow.waiting > RemoteImages.atOnce }
        slow.open()
        await watch.value
        let error = await #expect(throws: APIFailure.self) { _ = try await surplus.value }
        #expect(error?.code == "remote_busy")
        for task in first { #expect(try await task.value == .ok) }
        #expect(try await images.image(at: Self.place).status == .ok)
    }

    @Test("A server that does not answer is left after 20 seconds")
    func patience() async throws {
        let (slow, time) = (Slow(), ManualTime())
        let images = slow.images(time)
        let task = Task { try await images.image(at: Self.place).status }
        try await until { slow.waiting == 1 && time.sleeperCount == 1 }
        time.advance(by: RemoteImages.patience)
        let error = await #expect(throws: APIFailure.self) { _ = try await task.value }
        #expect(error?.message.contains("took too long") == true)
    }
}
