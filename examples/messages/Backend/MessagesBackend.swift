// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
public import NacreRouting

/// The mail backend of the Messages example: conversations, drafts, attachments and archives of each signed-in person.
///
/// It stands behind the gateway and knows people only by the gateway's signed word in `X-Nacre-Identity`. Everybody
/// gets their own copy of the sample mails with the first request.
public struct MessagesBackend: Sendable {
    /// Answers the requests of the gateway; serve it on a loopback address.
    public let responder: any HTTPResponder

    /// Opens the database and reads the sample mails.
    ///
    /// - Throws: `messages.seed` when the sample mails cannot be read, `messages.configuration` for a number out of its
    ///   range, a database error when the file cannot be opened.
    public init(configuration: Configuration) async throws {
        guard (0...100_000).contains(configuration.generatedThreads) else {
            throw NacreError("messages.configuration", "generatedThreads must be a number from 0 to 100000.")
        }
        let samples = try SampleMail.load(folder: configuration.sampleMail)
        let store = try await MailStore(configuration: configuration, samples: samples)
        let gate = IdentityMiddleware(verifier: configuration.identityVerifier, log: configuration.log)
        let remote = configuration.remote.map { RemoteImages(access: $0, time: configuration.time) }
        responder = gate.wrapping(API(store: store, remote: remote, log: configuration.log))
    }
}
