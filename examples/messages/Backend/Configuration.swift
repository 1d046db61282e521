// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

public import NacreCore

extension MessagesBackend {
    /// What the backend needs to know.
    public struct Configuration: Sendable {
        /// The SQLite file, made when it is missing, or the URL of a PostgreSQL database.
        public var database: String
        /// The folder of sample mails that each new person gets a copy of (`examples/messages/Backend/Seed`).
        public var sampleMail: String
        /// How many conversations beyond the samples each new person gets, 0 to 100,000: for scroll tests.
        public var generatedThreads: Int
        /// The origin at which the page reaches this backend, such as `https://mail.example.org`; hostile samples aim
        /// at it.
        public var publicOrigin: String
        /// Checks the gateway's word about who is signed in.
        public var identityVerifier: any IdentityVerifier
        /// How images that messages show from elsewhere are fetched; nil: they are not.
        public var remote: RemoteAccess?
        /// Where time comes from.
        public var time: any TimeSource
        /// Where identifiers come from.
        public var random: any RandomSource
        /// Where events are logged.
        public var log: Log

        /// A configuration with the given parts.
        public init(
            database: String, sampleMail: String, generatedThreads: Int = 0, publicOrigin: String,
            identityVerifier: any IdentityVerifier, remote: RemoteAccess? = nil, time: any TimeSource = SystemTime(),
            random: any RandomSource = SystemRandom(), log: Log = .none
        ) {
            self.database = database
            self.sampleMail = sampleMail
            self.generatedThreads = generatedThreads
            self.publicOrigin = publicOrigin
            self.identityVerifier = identityVerifier
            self.remote = remote
            self.time = time
            self.random = random
            self.log = log
        }
    }
}
