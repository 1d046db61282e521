// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreJOSE
import NacreRouting

extension GatewayCore {
    /// Longer hints are no name of a person.
    private static let maximumHint = 512

    /// `GET` and `POST /api/v1.0/initiate-login/`: the `initiate_login_uri` (OpenID Connect Core section 4). A portal of
    /// the provider, or anybody, asks us to begin a sign-in; so nothing of the request is obeyed that leads elsewhere.
    func initiateLogin(_ request: HTTPRequest, _ context: RequestContext) async throws -> HTTPResponse {
        if let refusal = try await tooManyDepartures(request, context) { return refusal }
        let wish: ThirdPartyWish
        do { wish = try await self.wish(request) } catch let error as NacreError where error.code == "sign_in.parameter"
        {
            return refusal(error, request)
        } catch let error as NacreError where error.code == "sign_in.return_to" {
            return refusal(error, request)
        }
        let state = parts.random.token()
        do {
            let departure = try await party.departure(state: state, loginHint: wish.loginHint)
            var record = PendingRecord(
                kind: .signIn, scheme: nil, challenge: nil, flow: nil, returnTo: wish.returnTo)
            (record.nonce, record.verifier) = (departure.nonce, departure.verifier)
            var response = try await leave(record, state: state, to: departure.location, request)
            // A POST must not be repeated at the provider.
            if request.method == .post { response.status = .seeOther }
            return response
        } catch let error as NacreError {
            parts.log.error("sign_in.cannot_start", ["error": .string(error.description)])
            return outage(error, request, nil, wish.returnTo)
        }
    }

    private struct ThirdPartyWish {
        let loginHint: String?
        let returnTo: String
    }

    private func wish(_ request: HTTPRequest) async throws -> ThirdPartyWish {
        func fault(_ reason: String) -> NacreError {
            NacreError("sign_in.parameter", "This sign-in cannot start: \(reason). Start again from the app.")
        }
        var text = request.query ?? ""
        if request.method == .post {
            text = String(decoding: try await request.body.collect(upTo: 16 * 1024), as: UTF8.self)
        }
        guard let fields = FormFields(decoding: text) else { throw fault("the request is damaged") }
        for name in ["iss", "login_hint", "target_link_uri"] where fields.values(name).count > 1 {
            throw fault("\(name) stands twice")
        }
        guard areIdentical(fields["iss"], configuration.oidc.issuer) else {  // guard: initiate-issuer
            throw fault("it names another sign-in service than ours")
        }
        let hint = fields["login_hint"].flatMap { $0.isEmpty ? nil : $0 }
        guard (hint?.utf8.count ?? 0) <= Self.maximumHint else { throw fault("login_hint is too long") }
        let target = try SignInRequest.returnTarget(fields["target_link_uri"], configuration)  // guard: initiate-target
        return ThirdPartyWish(loginHint: hint, returnTo: target)
    }
}
