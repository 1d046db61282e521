// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreSignIn
import NacreTesting
import Testing

@Suite(.timeLimit(.minutes(2))) struct AppLogTests {
    /// What one sign-in knows that nobody else may: the values of its request, of its link and of its session.
    private func secrets(_ device: Device) throws -> Set<String> {
        var found: Set<String> = []
        for place in device.browser.opened {
            let query = FormFields(decoding: try WebURL(place).query ?? "")
            for name in ["code_challenge", "flow"] { found.insert(try #require(query?[name])) }
        }
        for body in device.server.bodies {
            guard let message = try? JSONParser.parse(body) else { continue }
            for name in ["token", "code_verifier"] { if let value = message[name]?.string { found.insert(value) } }
        }
        for session in device.server.sessions { found.formUnion([session, "csrf-\(session)"]) }
        return found
    }

    private func expectSilence(_ device: Device, about secrets: Set<String>) {
        for secret in secrets { #expect(!device.sink.text.contains(secret), "\(secret) in \(device.sink.text)") }
    }

    @Test("HO-8: no secret of a sign-in, of its session or of a refused exchange reaches the app's log")
    func secretsStayOut() async throws {
        let device = Device()
        await device.launch()
        #expect(await device.signIn().end == .signedIn)
        await eventually("profile") { await device.session.snapshot.profile != nil }
        _ = try await device.call("/api/v1.0/threads/", .post)
        let known = try secrets(device)
        #expect(known.count == 6)
        #expect(!device.sink.events.isEmpty)
        expectSilence(device, about: known)
        // A server that refuses the exchange is told of; what was exchanged is not.
        let refused = Device()
        await refused.launch()
        refused.server.change { $0.exchangeStatus = .forbidden }
        #expect(await refused.signIn().end == .failed)
        #expect(try secrets(refused).count == 4)
        #expect(!refused.sink.events.isEmpty)
        expectSilence(refused, about: try secrets(refused))
    }

    @Test("HO-8, HO-9: nor does one that a killed process left behind, or a stranger's link")
    func afterDeath() async throws {
        let device = Device()
        await device.launch()
        let task = Task { await device.flow.signIn() }
        await eventually("browser") { !device.browser.opened.isEmpty }
        let opened = device.browser.opened[0]
        device.life.end()
        let next = device.restarted()
        await next.launch()
        let link = device.server.link(for: opened)
        await next.links.receive("stmessages://auth?token=of-a-stranger-1234&flow=another-flow-5678")
        await next.links.receive(link)
        await eventually("signed in") { await next.session.snapshot.state == .signedIn }
        next.server.change { $0.online = false }
        let last = next.restarted()
        await last.launch()
        var known = try secrets(device).union(["of-a-stranger-1234", "another-flow-5678"])
        known.insert(try #require(FormFields(decoding: link.split(separator: "?")[1])?["token"]))
        expectSilence(device, about: known)
        expectSilence(next, about: known)
        expectSilence(last, about: known)
        #expect(!next.sink.events.isEmpty)
        // The dead process's own wait has no end.
        task.cancel()
    }
}
