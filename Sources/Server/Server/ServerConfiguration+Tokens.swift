// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore

/// The settings about tokens and limits.
extension ServerConfiguration {
    mutating func readTokens(_ reader: inout ConfigurationReader) throws(NacreError) {
        guard var object = try reader.object("tokens") else { return }
        tokens.presentations = try object.strings("presentations") ?? tokens.presentations
        for name in tokens.presentations where !["pair", "bearer"].contains(name) {
            throw object.fault("presentations", "has \"\(name)\"; it may hold \"pair\" and \"bearer\".")
        }
        tokens.bearer = try object.string("bearer") ?? tokens.bearer
        guard ["opaque", "jwt"].contains(tokens.bearer) else { throw object.fault("bearer", "must be opaque or jwt.") }
        func seconds(
            _ key: String, _ range: ClosedRange<Int64>, _ preset: Duration
        ) throws(NacreError) -> Duration {
            try object.integer(key, in: range).map { .seconds($0) } ?? preset
        }
        tokens.bearerAge = try seconds("bearerAge", 60...31_536_000, tokens.bearerAge)
        tokens.accessAge = try seconds("accessAge", 30...86_400, tokens.accessAge)
        tokens.retryWindow = try seconds("retryWindow", 0...60, tokens.retryWindow)
        tokens.fromCookie = try object.bool("fromCookie") ?? tokens.fromCookie
        guard !tokens.fromCookie || !tokens.presentations.isEmpty else {
            throw object.fault("fromCookie", "is true, but presentations is empty; name \"pair\" or \"bearer\" there.")
        }
        try object.finish()
    }

    mutating func readLimits(_ reader: inout ConfigurationReader) throws(NacreError) {
        guard var object = try reader.object("limits") else { return }
        func count(
            _ key: String, _ preset: Int, _ range: ClosedRange<Int64> = 1...100_000
        ) throws(NacreError) -> Int {
            try object.integer(key, in: range).map { Int($0) } ?? preset
        }
        departuresPerMinute = try count("departuresPerMinute", departuresPerMinute)
        tokensPerMinute = try count("tokensPerMinute", tokensPerMinute)
        silentPerMinute = try count("silentPerMinute", silentPerMinute)
        connectionsPerClient = try count("connectionsPerClient", connectionsPerClient, 0...100_000)
        bodyRate = try count("bodyRate", bodyRate, 0...1_000_000_000)
        bodyWindow = try object.integer("bodyWindow", in: 1...3600).map { .seconds($0) } ?? bodyWindow
        try object.finish()
    }
}
