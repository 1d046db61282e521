// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCommands
import NacreCore
import NacreCrypto
import NacrePublisher
import NacreReleases

/// `nacre ota`: publishes updates over the air.
struct OtaCommand {
    static let usage = """
        usage: nacre ota keygen [--roots]
               nacre ota bucket
               nacre ota publish FOLDER --version V [--builtin FOLDER]... [--from N] [--fast] [--stage-only] [--force]
                                 [--platform P]... [--native-min V] [--native-below V] [--storage-epoch N] [--reset-storage]
                                 [--rollout PERCENT] [--expires DAYS] [--gateway URL]
               nacre ota promote [VERSION] | promote --rollout PERCENT
               nacre ota rollback VERSION [--reset-storage]
               nacre ota revoke VERSION
               nacre ota inspect
               nacre ota verify [--builtin FOLDER]... [--from N] [--platform P]
               nacre ota freshness [--hours N]
               nacre ota keys make [--release KEY]... [--freshness KEY]... [--root KEY]... [--threshold N]
                                   [--after FILE] [--days N]
               nacre ota keys sign FILE
               nacre ota keys put FILE
        everywhere: [--project FOLDER] [--app ID] [--channel NAME] [--bucket FOLDER | s3://NAME] [--public-url URL]
                    [--no-read-back] [--json]
        Keys come from the environment alone; see docs/updates.md.
        """

    private let words: [String]
    private let options: OtaOptions
    private let environment: [String: String]
    private let settings: OtaSettings

    /// Reads the arguments.
    ///
    /// - Throws: `usage`, `configuration.*`.
    init(arguments: [String], environment: [String: String]) throws(NacreError) {
        guard let first = arguments.first, !["help", "--help", "-h"].contains(first) else {
            throw NacreError("usage", Self.usage)
        }
        options = try OtaOptions(arguments)
        words = options.words
        self.environment = environment
        settings = try OtaSettings(options, environment)
    }

    static func fault(_ reason: String) -> NacreError { NacreError("usage", "\(reason)\n\(usage)") }

    /// Does it; the first Ctrl-C cancels, and leaves nothing announced.
    func run() async throws -> Int32 {
        let signals = Interruption.begin()
        let work = Task { try await perform() }
        let watch = Task {
            for await _ in signals {
                StandardError.say("stopping; once more ends at once")
                work.cancel()
                return
            }
        }
        defer { watch.cancel() }
        do { return try await work.value } catch {
            guard work.isCancelled else { throw error }
            StandardError.say("nacre: stopped; nothing was announced.")
            return 130
        }
    }

    private func perform() async throws -> Int32 {
        let rest = Array(words.dropFirst())
        switch words.first {
        case "keygen": return try await keygen(rest)
        case "keys": return try await keys(rest)
        case "bucket":
            try options.take(rest, 0, "bucket")
            for line in try await settings.bucket().prepare() { print(line) }
            return 0
        case "publish": return try await publish(rest)
        case "promote":
            try options.take(rest, 0...1, "promote", options: ["--rollout"])
            let publisher = try settings.publisher(keys: try settings.optionalKeys())
            if let basisPoints = try options.percent("--rollout") {
                guard rest.isEmpty else { throw Self.fault("promote takes a version or --rollout.") }
                return tell(try await publisher.rollOut(basisPoints: basisPoints))
            }
            return tell(try await publisher.promote(rest.first))
        case "rollback":
            try options.take(rest, 1, "rollback", flags: ["--reset-storage"])
            return tell(
                try await settings.publisher(keys: PublisherKeys(environment: environment)).rollback(
                    to: rest[0], resetsStorage: options.has("--reset-storage")))
        case "revoke":
            try options.take(rest, 1, "revoke")
            return tell(try await settings.publisher(keys: PublisherKeys(environment: environment)).revoke(rest[0]))
        case "inspect":
            try options.take(rest, 0, "inspect")
            let answer = try await settings.publisher(keys: nil, needsPublicURL: false).inspect()
            print(options.isJSON ? answer.text : OtaText.inspection(answer))
            return 0
        case "verify": return try await verify(rest)
        case "freshness":
            try options.take(rest, 0, "freshness", options: ["--hours"])
            guard let key = try KeyText.privateKey(PublisherKeys.freshnessVariable, in: environment, .edDSA) else {
                throw NacreError("ota.key", "\(PublisherKeys.freshnessVariable) is not set.")
            }
            let hours = try options.number("--hours", in: 1...720) ?? 48
            let word = try await settings.publisher(keys: nil, needsPublicURL: false)
                .freshness(signedBy: key, for: .seconds(hours * 3600))
            print(word.json.text)
            return 0
        default: throw Self.fault("\(words.first ?? "") is not a task of ota.")
        }
    }

    private func publish(_ rest: [String]) async throws -> Int32 {
        try options.take(
            rest, 1, "publish",
            options: [
                "--version", "--builtin", "--from", "--platform", "--native-min", "--native-below", "--storage-epoch",
                "--rollout", "--expires", "--gateway",
            ], flags: ["--fast", "--stage-only", "--force", "--reset-storage"])
        guard let version = options.value("--version") else { throw Self.fault("publish needs --version.") }
        let publisher = try settings.publisher(keys: PublisherKeys(environment: environment))
        var request = PublishRequest(folder: rest[0], version: version)
        request.stamp = try await WorkThreads(limit: 1).run { [environment] in
            BuildStamp.of(rest[0], environment, now: SystemTime().now)
        }
        request.builtIns = options.values("--builtin")
        request.previous = try options.number("--from", in: 0...60) ?? request.previous
        request.platforms = options.values("--platform")
        if options.value("--native-min") != nil || options.value("--native-below") != nil {
            request.native = try NativeRange(
                minimum: options.value("--native-min"), below: options.value("--native-below"))
        }
        request.storageEpoch = Int64(try options.number("--storage-epoch", in: 0...1_000_000_000) ?? 0)
        request.resetsStorage = options.has("--reset-storage")
        request.rollout.basisPoints = try options.percent("--rollout") ?? 10_000
        if let days = try options.number("--expires", in: 1...3650) { request.lifetime = .seconds(days * 86_400) }
        request.effort = options.has("--fast") ? .fast : .thorough
        (request.stagesOnly, request.force) = (options.has("--stage-only"), options.has("--force"))
        let outcome = try await publisher.publish(request)
        let code = tell(outcome)
        await settings.warnOfOtherChannel(publisher.manifestURL, gateway: options.value("--gateway"))
        return code
    }

    private func verify(_ rest: [String]) async throws -> Int32 {
        try options.take(rest, 0, "verify", options: ["--builtin", "--from", "--platform"])
        let ways = try await settings.publisher(keys: nil).verify(
            try settings.trust(), builtIns: options.values("--builtin"),
            previous: try options.number("--from", in: 0...60) ?? 3, platform: options.value("--platform") ?? "linux")
        print(options.isJSON ? JSONValue.array(ways.map(\.json)).text : OtaText.ways(ways))
        return ways.contains { $0.fault != nil } ? 1 : 0
    }

    private func tell(_ outcome: PublishOutcome) -> Int32 {
        print(options.isJSON ? outcome.json.text : OtaText.outcome(outcome))
        return 0
    }

    private func keygen(_ rest: [String]) async throws -> Int32 {
        try options.take(rest, 0, "keygen", flags: ["--roots"])
        let isRoots = options.has("--roots")
        let lines = try await WorkThreads(limit: 1).run {
            isRoots ? try KeyCeremony.signingPairs() : try KeyCeremony.archivePair()
        }
        StandardError.say(isRoots ? OtaText.rootsGuidance : OtaText.pairGuidance)
        for line in lines { print(line.text) }
        return 0
    }

    private func keys(_ rest: [String]) async throws -> Int32 {
        let files = Array(rest.dropFirst())
        switch rest.first {
        case "make":
            try options.take(
                files, 0, "keys make",
                options: ["--release", "--freshness", "--root", "--threshold", "--after", "--days"])
            var wish = KeyCeremony.Wish(app: try settings.app(), release: try settings.releaseKeys("--release"))
            wish.freshness = try settings.releaseKeys("--freshness")
            wish.roots = try settings.releaseKeys("--root")
            wish.threshold = try options.number("--threshold", in: 1...16)
            if let days = try options.number("--days", in: 1...36_500) { wish.lifetime = .seconds(days * 86_400) }
            let previous = try options.value("--after").map { try KeyCeremony.read(Self.content($0)).set }
            let envelope = try KeyCeremony.make(
                wish, after: previous,
                signedBy: KeyText.privateKeys(PublisherKeys.rootsVariable, in: environment, .edDSA),
                now: SystemTime().now)
            print(envelope.json.text)
        case "sign":
            try options.take(files, 1, "keys sign")
            let envelope = try KeyCeremony.read(Self.content(files[0])).envelope
            let signed = try KeyCeremony.sign(
                envelope, with: KeyText.privateKeys(PublisherKeys.rootsVariable, in: environment, .edDSA))
            print(signed.json.text)
        case "put":
            try options.take(files, 1, "keys put")
            let envelope = try KeyCeremony.read(Self.content(files[0])).envelope
            let set = try await settings.publisher(keys: nil, needsPublicURL: false).put(keySet: envelope)
            print("key set of epoch \(set.epoch) is in the channel; it expires on \(set.expires.iso8601)")
        default: throw Self.fault("keys takes make, sign or put.")
        }
        return 0
    }

    private static func content(_ path: String) throws(NacreError) -> [UInt8] {
        let data =
            path == "-"
            ? try? FileHandle.standardInput.readToEnd() : FileManager.default.contents(atPath: path)
        guard let data, data.count <= 256 * 1024 else {
            throw NacreError("ota.key_set", "\(path) cannot be read; name the file that nacre ota keys make wrote.")
        }
        return [UInt8](data)
    }
}
