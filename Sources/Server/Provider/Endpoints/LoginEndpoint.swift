// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreHTTP
import NacreLimits
import NacreRouting

/// `POST /login`: the form comes back (PV-3).
struct LoginEndpoint: Sendable {
    let core: ProviderCore

    func post(_ request: HTTPRequest, _ context: RequestContext) async throws -> HTTPResponse {
        let browser = core.cookies.value(core.cookies.browser, in: request)
        let form = try await core.form(of: request)
        guard let form, let query = core.open(form["attempt"], purpose: "login", browser: browser),
            let browser, let fields = FormFields(decoding: query)
        else {
            core.log.notice("login.stale")
            let language = core.language(nil, request)
            return core.pages.refusal(language.text.staleForm, language)
        }
        let language = core.language(fields["ui_locales"], request)
        do {
            // Judged again: the configuration may have changed since the form was made.
            let authorization = try AuthorizationRequest(fields, configuration: core.configuration)
            if form["action"] == "cancel" { throw refusal(authorization) }
            if case .unreachable = core.configuration.levels.demand(authorization.levels) {
                throw refusal(authorization)
            }
            return try await Attempt(
                core: core, request: request, address: context.clientAddress, form: form, query: query,
                browser: browser, authorization: authorization, language: language
            ).answer()
        } catch let fault as AuthorizationFault {
            return core.refuse(fault, language, status: .seeOther)
        }
    }

    private func refusal(_ authorization: AuthorizationRequest) -> AuthorizationFault {
        if case .unreachable(let level) = core.configuration.levels.demand(authorization.levels) {
            return .redirect(
                authorization.answer, error: "unmet_authentication_requirements",
                description: "The level \(level) cannot be reached.")
        }
        return .redirect(authorization.answer, error: "access_denied", description: "The person cancelled.")
    }
}

/// One try of one person.
private struct Attempt: Sendable {
    let core: ProviderCore
    let request: HTTPRequest
    let address: String
    let form: FormFields
    let query: String
    let browser: String
    let authorization: AuthorizationRequest
    let language: PageLanguage

    private var username: String { (form["username"] ?? "").trimmingSpaces() }
    private var password: String { form["password"] ?? "" }
    private var remembers: Bool { form["remember"] == "1" }

    func answer() async throws -> HTTPResponse {
        // Before anybody is looked for: how long the answer takes must not tell whether there is such a person.
        let isSane =
            (1...254).contains(username.utf8.count)
            && password.utf8.count <= PasswordHasher.maximumLength  // guard: provider-password-length
        guard isSane else { return try again(.wrong, .init(rawValue: 422)) }
        let account = try await core.store.account(named: username)
        let counts = try await self.counts(account)
        // Taken before the password is looked at, so that many guesses at once do not slip through; a right one gives it back.
        let wait = try await core.limiter.take(counts, outage: .refuse)
        if let wait {  // guard: provider-throttle
            core.log.warning("login.throttled", ["address": .string(address)])
            var response = try again(.tooMany(wait: wait), .tooManyRequests)
            response.fields["Retry-After"] = String(wait.retrySeconds)
            return response
        }
        guard let account = try await verified(account) else {
            core.log.notice("login.refused", ["address": .string(address)])
            return try again(.wrong, .init(rawValue: 422))
        }
        try await core.limiter.giveBack(counts)
        return try await signIn(account)
    }

    /// The account, if the password is its own. An unknown name costs the same time.
    private func verified(_ account: ProviderAccount?) async throws -> ProviderAccount? {
        guard let account, !account.isDevelopment || core.configuration.isDevelopment else {
            try await core.hasher.spendTime(on: password)  // guard: provider-unknown-user-time
            return nil
        }
        let isCorrect = try await core.hasher.isCorrect(password, for: account.passwordHash)
        guard isCorrect else { return nil }  // guard: provider-password
        if core.hasher.needsRehash(account.passwordHash) {
            try await core.store.setPasswordHash(
                try await core.hasher.hash(password), subject: account.subject, replacing: account.passwordHash)
        }
        return account
    }

    /// Where this try is counted: a device that the account knows has a count of its own.
    private func counts(_ account: ProviderAccount?) async throws -> [LimitedKey] {
        let throttle = core.configuration.throttle
        // Hashed, because people type passwords into the wrong field.
        let name = Hex.encode(SHA256.hash((account?.subject ?? username).lowercased()))
        if let device = core.cookies.value(core.cookies.device, in: request), let account,
            try await core.store.knows(device: device, subject: account.subject)  // guard: provider-known-device
        {
            return [
                Limit("password.device", throttle.perAccount, per: throttle.window)
                    .of(Hex.encode(SHA256.hash(device)) + ":" + name)
            ]
        }
        let network = ClientNetwork.name(of: address)  // guard: provider-network
        return [
            Limit("password.network", throttle.perAddress, per: throttle.window).of(network),
            Limit("password.account", throttle.perAccount, per: throttle.window).of(name),
        ]
    }

    private func signIn(_ account: ProviderAccount) async throws -> HTTPResponse {
        let now = core.time.now
        let old = core.cookies.value(core.cookies.session, in: request)
        let before = try await core.liveSession(old)
        let lifetimes = core.configuration.lifetimes
        let factors: Set<AuthenticationLevel.Factor> = [.password]
        let session = SSOSession(
            sid: before?.subject == account.subject
                ? before?.sid ?? core.random.identifier() : core.random.identifier(),
            subject: account.subject, level: core.configuration.levels.reached(by: factors) ?? "",
            methods: factors.map(\.methodReference).sorted(), authenticatedAt: now,
            expiresAt: now + (remembers ? lifetimes.rememberedSession : lifetimes.browserSession))
        let token = core.random.token()
        try await core.store.start(session, token: token, replacing: old)
        let device = core.cookies.value(core.cookies.device, in: request) ?? core.random.token()
        try await core.store.remember(device: device, subject: account.subject, now: now)
        let location = try await core.issueCode(authorization, session)
        core.log.info(
            "login.done", ["client": .string(authorization.answer.client.id), "subject": .string(account.subject)])
        var response = HTTPResponse.redirect(to: location, status: .seeOther)
        // PV-3: only "Remember me" makes the cookie outlive the browser.
        let age = remembers ? lifetimes.rememberedSession : nil  // guard: provider-remember
        response.fields.append("Set-Cookie", core.cookies.setting(core.cookies.session, token, age: age))
        response.fields.append(
            "Set-Cookie", core.cookies.setting(core.cookies.device, device, age: .seconds(365 * 86_400)))
        return response
    }

    private func again(_ problem: LoginForm.Problem, _ status: HTTPStatus) throws -> HTTPResponse {
        var form = LoginForm(
            clientName: authorization.answer.client.name, redirectOrigin: authorization.answer.origin,
            attempt: try core.seal(query, purpose: "login", browser: browser))
        form.username = String(username.prefix(254))
        form.remember = remembers
        form.problem = problem
        return core.pages.login(form, language, status: status)
    }
}
