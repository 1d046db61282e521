// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreLinks
import NacrePlugins
import NacrePorts
import NacreSignIn
import Synchronization

/// What becomes of a link that no running flow took (HO-9): the hand-off's own are dropped, anything else is the page's.
final class LinkFallbackRule: Sendable {
    private let signIn = Mutex<SignInFlow?>(nil)
    private let accounts: AccountKeeper?

    init(_ accounts: AccountKeeper?) { self.accounts = accounts }

    func connect(_ flow: SignInFlow) { signIn.withLock { $0 = flow } }

    func decide(_ incoming: IncomingLink, _ link: DeepLink) async -> LinkFallback {
        guard let flow = signIn.withLock({ $0 }), await flow.isHandoff(link) else { return .route }
        if await flow.pageShouldGet(link) { return .route }
        return await accounts?.take(incoming, link) == true ? .consumed : .drop
    }
}

extension SessionActions {
    /// `nacre.session` over the session and the sign-in flow.
    init(session: AppSession, signIn flow: SignInFlow, window: WindowActions) {
        self.init(
            signIn: {
                let result = await flow.signIn()
                if result.end == .signedIn { await window.present() }
                return result.json
            },
            cancel: { await flow.cancel() },
            reopenBrowser: { try await flow.reopenBrowser() },
            signOut: {
                let result = await flow.signOut()
                await window.present()
                var members: [String: JSONValue] = [
                    "outcome": "signedOut", "sharedSessionMayLiveOn": .bool(result.sharedSessionMayLiveOn),
                ]
                if let fault = result.fault { members["error"] = SessionSnapshot.Fault(fault).json }
                return .object(members)
            },
            validate: {
                // A locked keyring is opened here, because this is what a person asks for with "try again".
                if await session.unlock() {
                    await flow.resumeAfterUnlock()
                    await session.validate()
                }
                return await session.snapshot.json
            },
            snapshot: { await session.snapshot.json })
    }
}

extension AttemptResult {
    /// What `nacre.session.signIn()` resolves to.
    var json: JSONValue {
        let outcome: String =
            switch end {
            case .signedIn: "signedIn"
            case .cancelled: "cancelled"
            case .failed, .expired, .signedOut: "failed"
            }
        var members: [String: JSONValue] = ["outcome": .string(outcome)]
        if let fault { members["error"] = SessionSnapshot.Fault(fault).json }
        return .object(members)
    }
}
