// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
package import NacrePorts

extension SignInFlow {
    /// A link while an attempt is under way. True when it belongs to the attempt and has been written down.
    func offer(_ incoming: IncomingLink) async -> Bool {
        guard let current, let link = try? DeepLink(parsing: incoming.url, schemes: [scheme]) else { return false }
        let id = current.record.id
        guard let event = Self.event(of: link, for: current.record) else { return false }
        if event == .token(.absent), current.record.phase != .borrowed {
            return await probe(link["token"] ?? "", for: id)
        }
        if case .refusal(_, false) = event {
            let fault = NacreError("sign_in.refused", "The identity provider did not sign you in; try again.")
            return await handle(event, for: id, fault: fault, link: incoming.url)
        }
        return await handle(event, for: id, token: link["token"], link: incoming.url)
    }

    /// What a link says to this attempt, or nil when it says nothing.
    private static func event(of link: DeepLink, for record: AttemptRecord) -> AttemptEvent? {
        guard let event = event(of: link, flow: record.flow) else { return nil }
        // A page that has sent a flow is told of a refusal only with it: anybody may open the bare link.
        let isBare = if case .refusal(.absent, _) = event { true } else { false }
        if isBare, record.phase == .borrowed, !record.flow.isEmpty { return nil }  // guard: borrow-flow
        return event
    }

    /// What a link of the hand-off says, or nil when it is none.
    static func event(of link: DeepLink, flow: String) -> AttemptEvent? {
        guard link.path.isEmpty || link.path == "/" else { return nil }
        let match: FlowMatch =
            switch link["flow"] {
            case nil: .absent
            case .some(let sent):
                constantTimeEqual(Array(sent.utf8), Array(flow.utf8)) ? .same : .foreign  // guard: sign-in-flow
            }
        switch link.host {
        case "auth":
            if let token = link["token"], !token.isEmpty { return .token(match) }
            guard let error = link["error"] else { return nil }
            return .refusal(match, cancelled: error == "access_denied")
        case "logout": return .loggedOut(match)
        default: return nil
        }
    }

    /// Whether a link is one of the hand-off's: those never reach a page, unless the page runs the hand-off by itself.
    package func isHandoff(_ link: DeepLink) -> Bool {
        link.scheme == scheme && ["auth", "logout"].contains(link.host)
    }

    /// A hand-off link that nothing captured. True when the page that borrowed the browser is gone with its process, and
    /// its successor should get the link.
    package func pageShouldGet(_ link: DeepLink) async -> Bool {
        guard let current, current.record.phase == .borrowed, current.waiters.isEmpty,
            let event = Self.event(of: link, for: current.record)
        else { return false }
        return await handle(event, for: current.record.id)
    }

    /// A peer that does not echo the flow: only a token that exchanges proves anything (design, "Hand-off abuse").
    private func probe(_ token: String, for id: String) async -> Bool {
        guard let phase = current?.record.phase, AttemptMachine.step(phase, .token(.absent)) != nil,
            let verifier = current?.secret["verifier"]?.string
        else { return false }
        guard case .done(let fields, let csrf) = await client.exchange(token: token, verifier: verifier) else {
            parts.log.notice("sign_in.ignored", ["reason": "a link without flow whose token does not exchange"])
            return false
        }
        return await handle(.exchanged, for: id, session: (fields, csrf))
    }
}
