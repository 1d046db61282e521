// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacrePorts
import NacreWire

extension AppSession {
    private static let patience: Duration = .seconds(15)

    /// Asks the server whether the session is still valid (SE-3): still valid → fresh profile; 401 → signed out with a
    /// reason; unreachable → stays.
    package func validate() async {
        guard phase == .signedIn else { return }
        startValidation()
        await validation?.task.value
    }

    /// Waits for the check after a sign-in, but not for long: a profile that is there at once spares the page a flicker.
    func settle(upTo limit: Duration) async {
        guard let task = validation?.task else { return }
        _ = try? await withTimeLimit(
            limit, time: time, timeout: { NacreError("session.slow", "The server takes its time.") },
            operation: { await task.value })
    }

    /// One check at a time, however many 401s arrive (SE-4).
    func startValidation() {
        if let validation, validation.generation == generation { return }  // guard: session-single-flight
        let checked = generation
        let task = Task { await check(checked) }
        validation = (checked, task)
    }

    private func check(_ checked: UInt64) async {
        let answer = await askServer()
        if validation?.generation == checked { validation = nil }
        // Somebody has signed out or in meanwhile: this answer is about another session.
        guard checked == generation, phase == .signedIn else { return }
        switch answer {
        case .valid(let fresh):
            server = .reachable
            let isNews = fresh != profile
            profile = fresh
            if isNews { _ = await save() }
        case .ended(let why):
            server = .reachable
            log.notice("session.ended", ["reason": .string(why.rawValue)])
            await end(why)
        case .unreachable: server = .unreachable
        case .unclear: server = .reachable
        }
        changed()
    }

    private enum Answer {
        case valid(UserProfile)
        case ended(SessionSnapshot.Reason)
        case unreachable
        /// An answer that says nothing about the session.
        case unclear
    }

    private func askServer() async -> Answer {
        let url = endpoints.profile
        var request = HTTPRequest(.get, url, fields: ["Accept": "application/json"])
        if let cookies = jar.header(for: url, now: time.now) { request.fields["Cookie"] = cookies }
        let asked = generation
        do {
            let (transport, sent) = (transport, request)
            let (response, body) = try await withTimeLimit(
                Self.patience, time: time,
                timeout: { NacreError("transport.timeout", "The server does not answer.") },
                operation: { () async throws -> (HTTPResponse, [UInt8]) in
                    let response = try await transport.send(sent)
                    return (response, try await response.body.collect(upTo: 256 * 1024))
                })
            if asked == generation { jar.store(response.fields, from: url, now: time.now) }
            switch response.status.rawValue {
            case 200..<300:
                guard let profile = try? UserProfile(body: body) else { return .unclear }
                return .valid(profile)
            case 401: return .ended(Self.reason(body, presented: sent.fields["Cookie"] != nil))
            case 500...: return .unreachable
            default: return .unclear
            }
        } catch {
            return .unreachable
        }
    }

    /// The server's own word, where it gives one. A cookie does not outlive its session: one that we still had and that
    /// the server does not know was ended elsewhere.
    private static func reason(_ body: [UInt8], presented: Bool) -> SessionSnapshot.Reason {
        switch (try? JSONParser.parse(body))?["code"]?.string {
        case SessionRefusal.revoked: .sessionRevoked
        case SessionRefusal.absent where presented: .sessionRevoked
        default: .sessionExpired
        }
    }
}

extension AppSession {
    // What the sign-in flow says while it runs; the session itself is not touched.

    func beginSigningIn() {
        isSigningIn = true
        reason = nil
        error = nil
        notice = nil
        changed()
    }

    /// - Parameters:
    ///   - why: how the attempt ended, when it did not end signed in.
    func endSigningIn(_ why: SessionSnapshot.Reason?, _ fault: NacreError? = nil) {
        isSigningIn = false
        if let why { reason = why }
        if let fault { error = SessionSnapshot.Fault(fault) }
        changed()
    }

    func say(_ text: String?) {
        notice = text
        changed()
    }
}
