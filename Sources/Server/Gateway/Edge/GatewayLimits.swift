// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreLimits
import NacreRouting

/// How often clients may do what costs or guesses something. All processes of one database count together.
struct GatewayLimits: Sendable {
    /// One-time tokens tried, per client network (HO-6).
    let exchanges: Limit
    /// Sign-ins and sign-outs begun, per client network.
    let departures: Limit
    /// Tokens refreshed and revoked, per client network.
    let tokens: Limit
    /// Passwords tried, per client network and per account.
    let guessesByNetwork = Limit("obtain.network", 30, per: .seconds(600))
    let guessesByAccount = Limit("obtain.account", 10, per: .seconds(600))

    init(_ configuration: GatewayConfiguration) {
        exchanges = Limit("exchange", configuration.exchangesPerMinute, per: .seconds(60))
        departures = Limit("departure", configuration.departuresPerMinute, per: .seconds(60))
        tokens = Limit("token", configuration.tokensPerMinute, per: .seconds(60))
    }
}

extension GatewayCore {
    /// Whom a limit per client counts.
    func network(_ context: RequestContext) -> String {
        ClientNetwork.name(of: context.clientAddress)  // guard: rate-network
    }

    /// 429 for a program.
    static func tooMany(_ wait: Duration) -> HTTPResponse {
        let seconds = wait.retrySeconds
        var response = HTTPResponse.failure(
            .tooManyRequests, code: "rate_limited",
            message: "Too many attempts; try again in \(seconds) second\(seconds == 1 ? "" : "s").")
        response.fields["Retry-After"] = String(seconds)
        return response
    }
}
