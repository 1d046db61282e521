// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP

/// The parameters of `GET /api/v1.0/authenticate/` and `/logout/`, checked (HO-1, HO-7).
struct SignInRequest: Sendable {
    let scheme: String?
    let challenge: String?
    let flow: String?
    let returnTo: String
    /// What the provider is to ask the person in spite of a session of theirs.
    let prompt: String?
    /// At a sign-out: the `flow` of the sign-in that began the session, for browsers that have signed in several accounts.
    let handoff: String?

    /// The values of `prompt` that an app may send on: none of them lets anything by that would be asked otherwise.
    static let prompts = ["select_account", "login"]

    /// Reads a query.
    ///
    /// - Throws: `sign_in.parameter` that says which parameter is wrong.
    init(
        query: String?, kind: PendingRecord.Kind, _ configuration: GatewayConfiguration
    ) throws(NacreError) {
        guard let fields = FormFields(decoding: query ?? "") else {
            throw NacreError("sign_in.parameter", "The address of this page is damaged; start again from the app.")
        }
        func one(_ name: String) throws(NacreError) -> String? {
            let values = fields.values(name)
            guard values.count <= 1 else { throw Self.fault("\(name) stands twice") }
            return values.first
        }
        returnTo = try Self.returnTarget(try one("returnTo"), configuration)
        prompt = kind == .signIn ? try one("prompt") : nil
        guard prompt.map(Self.prompts.contains) ?? true else {  // guard: prompt-form
            throw Self.fault("prompt must be select_account or login")
        }
        guard let scheme = try one("mobile_scheme") else {
            // Without a scheme this is the web sign-in, as if the hand-off did not exist.
            (self.scheme, challenge, flow, handoff) = (nil, nil, nil, nil)
            return
        }
        // guard: scheme-list
        guard GatewayConfiguration.isScheme(scheme), configuration.callbackSchemes.contains(scheme) else {
            throw Self.fault("mobile_scheme is not one of the apps that may sign in here")
        }
        self.scheme = scheme
        flow = try one("flow")
        handoff = kind == .signOut ? try one("handoff") : nil
        for (name, value) in [("flow", flow), ("handoff", handoff)] {
            guard let value else { continue }
            guard (1...128).contains(value.utf8.count), Self.isBase64URL(value) else {  // guard: flow-form
                throw Self.fault("\(name) must be 1 to 128 base64url characters")
            }
        }
        guard kind == .signIn else {
            challenge = nil
            return
        }
        guard let challenge = try one("code_challenge"), challenge.utf8.count == 43, Self.isBase64URL(challenge)
        else {  // guard: challenge-form
            throw Self.fault("code_challenge must be 43 base64url characters")
        }
        self.challenge = challenge
        guard try one("code_challenge_method") ?? "S256" == "S256" else {  // guard: challenge-method
            throw Self.fault("code_challenge_method must be S256")
        }
    }

    private static func fault(_ reason: String) -> NacreError {
        NacreError("sign_in.parameter", "This sign-in cannot start: \(reason). Start again from the app.")
    }

    private static func isBase64URL(_ text: String) -> Bool {
        text.utf8.allSatisfy {
            switch $0 {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }

    /// A place of ours to go on to: a path here, or a URL of a configured web origin. Anything else is refused, so that
    /// a link to us never leads elsewhere.
    static func returnTarget(
        _ text: String?, _ configuration: GatewayConfiguration
    ) throws(NacreError) -> String {
        guard let text, !text.isEmpty else { return "/" }
        let refusal = NacreError(
            "sign_in.return_to", "This sign-in cannot start: returnTo leads to another site. Start again from the app.")
        guard text.utf8.count <= 2048, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") })
        else { throw refusal }
        if text.hasPrefix("/") {
            guard !text.hasPrefix("//") else { throw refusal }  // guard: return-to-authority
            return text
        }
        guard let url = try? WebURL(text),
            ([configuration.publicOrigin] + configuration.webOrigins).contains(url.origin)  // guard: return-to-origin
        else { throw refusal }
        return text
    }
}
