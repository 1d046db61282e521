// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCommands
import NacreCore
import NacreCrypto
import NacreCurl
import NacreHTTP
import NacrePublisher
import NacreReleases

/// Where and for which app `nacre ota` works: options, the environment, and the project's `nacre.json`.
struct OtaSettings {
    private let options: OtaOptions
    private let environment: [String: String]
    private let project: JSONValue
    private let projectFile: String
    private let transport: any HTTPTransport = CurlTransport()
    private let threads = WorkThreads(limit: 4, waiting: 4096)
    private let progress = ProgressLine()

    /// - Throws: `configuration.file`.
    init(_ options: OtaOptions, _ environment: [String: String]) throws(NacreError) {
        self.options = options
        // Empty is unset, as everywhere.
        self.environment = environment.filter { !$0.value.isEmpty }
        let folder = options.value("--project")
        projectFile = (folder ?? ".") + "/nacre.json"
        if let content = FileManager.default.contents(atPath: projectFile) {
            do { project = try JSONParser.parse([UInt8](content)) } catch {
                throw NacreError("configuration.file", "\(projectFile): \(error.message)", cause: error)
            }
        } else {
            guard folder == nil else {
                throw NacreError("configuration.file", "There is no \(projectFile) to read.")
            }
            project = [:]
        }
    }

    /// The app's id.
    func app() throws(NacreError) -> String {
        guard let app = options.value("--app") ?? environment["MOBILE_APP_ID"] ?? project["app"]?["id"]?.string else {
            throw NacreError(
                "configuration.app",
                "Which app? Run this beside its nacre.json, or use --project, --app or MOBILE_APP_ID.")
        }
        return app
    }

    func channel() throws(NacreError) -> String {
        guard
            let channel = options.value("--channel") ?? environment["MOBILE_OTA_CHANNEL"]
                ?? project["updates"]?["channel"]?.string
        else {
            throw NacreError(
                "configuration.channel", "Which channel? Use --channel or MOBILE_OTA_CHANNEL, such as staging.")
        }
        return channel
    }

    /// - Throws: `configuration.bucket`.
    func bucket() throws(NacreError) -> any ReleaseBucket {
        let named = options.value("--bucket") ?? environment["NACRE_OTA_BUCKET"]
        if let named, !named.hasPrefix("s3://") {
            return FolderBucket(named, threads: threads, random: SystemRandom())
        }
        guard named != nil || environment["MOBILE_OTA_S3_BUCKET"] != nil else {
            throw NacreError(
                "configuration.bucket",
                "Into which bucket? Use --bucket FOLDER or NACRE_OTA_BUCKET, or MOBILE_OTA_S3_BUCKET for a store.")
        }
        return S3Bucket(
            try S3Configuration(bucket: named.map { String($0.dropFirst("s3://".count)) }, environment: environment),
            transport: transport, time: SystemTime(), random: SystemRandom(), threads: threads)
    }

    /// - Parameter needsPublicURL: whether the task writes it into a manifest, or reads by it.
    func publisher(keys: PublisherKeys?, needsPublicURL: Bool = true) throws(NacreError) -> ReleasePublisher {
        let bucket = try bucket()
        let base = options.value("--public-url") ?? environment["MOBILE_OTA_PUBLIC_BASE_URL"]
        guard base != nil || !needsPublicURL else {
            throw NacreError(
                "configuration.public_url",
                "Under which address do devices read the bucket? Use --public-url or MOBILE_OTA_PUBLIC_BASE_URL.")
        }
        let source: any ReleaseSource
        if let base, !options.has("--no-read-back") {
            source = try PublicSource(base: base, transport: transport, time: SystemTime(), random: SystemRandom())
        } else {
            source = BucketSource(bucket)
        }
        let progress = progress
        return try ReleasePublisher(
            app: try app(), channel: try channel(), bucket: bucket, source: source, publicBase: base ?? "", keys: keys,
            roots: try roots(), time: SystemTime(), random: SystemRandom(), threads: threads,
            workParent: FileManager.default.temporaryDirectory.path,
            report: PublishReport(say: { progress.say($0) }, progress: { progress.show($0, $1) }))
    }

    /// The keys where they are set; promoting what is signed already needs none.
    func optionalKeys() throws(NacreError) -> PublisherKeys? {
        environment[PublisherKeys.archiveVariable] == nil ? nil : try PublisherKeys(environment: environment)
    }

    /// The root keys that the app has built in, as `nacre.json` says; away from it, the one in the environment.
    ///
    /// - Throws: `configuration.root_keys`, `release.roots`.
    private func roots() throws(NacreError) -> RootKeys? {
        guard let updates = project["updates"] else {
            guard let text = environment[PublisherKeys.rootPublicVariable] else { return nil }
            guard let key = ReleaseKey(base64: text) else {
                throw NacreError(
                    "configuration.root_keys",
                    "\(PublisherKeys.rootPublicVariable) is not one public Ed25519 key in base64, as keygen --roots prints it; "
                        + "more of them stand in nacre.json (updates.rootKeys).")
            }
            return try RootKeys([key])
        }
        var roots: [ReleaseKey] = []
        for item in updates["rootKeys"]?.array ?? [] {
            guard let key = item.string.flatMap({ ReleaseKey(base64: $0) }) else {
                throw NacreError("configuration.root_keys", "\(projectFile): \"updates.rootKeys\" has what is no key.")
            }
            roots.append(key)
        }
        guard !roots.isEmpty else { return nil }
        return try RootKeys(roots, threshold: (updates["rootThreshold"]?.integer).map { Int(clamping: $0) } ?? 1)
    }

    /// What the app has built in, as `nacre.json` and the environment say.
    func trust() throws(NacreError) -> AppTrust {
        let (updates, roots) = (project["updates"], try roots())
        let text = environment[PublisherKeys.archivePublicVariable] ?? updates?["publicKey"]?.string
        let key: PublicKey?
        if let text {
            key = try KeyText.rsaPublicKey(text, "updates.publicKey (\(PublisherKeys.archivePublicVariable))")
        } else {
            key = try optionalKeys()?.archive.publicKey
        }
        guard key != nil || roots != nil else {
            throw NacreError(
                "configuration.keys",
                "With which keys does the app check releases? Run this beside its nacre.json, or use --project.")
        }
        return AppTrust(roots: roots, archiveKey: key)
    }

    /// Public Ed25519 keys of an option; without it, those of the private keys in the environment.
    func releaseKeys(_ option: String) throws(NacreError) -> [ReleaseKey] {
        var keys: [ReleaseKey] = []
        for text in options.values(option) {
            guard let key = ReleaseKey(base64: text) else {
                throw NacreError(
                    "usage", "\(option) takes a public Ed25519 key in base64, as keygen --roots prints it.")
            }
            keys.append(key)
        }
        let variables = [
            "--release": PublisherKeys.releaseVariable, "--freshness": PublisherKeys.freshnessVariable,
        ]
        if keys.isEmpty, let variable = variables[option],
            let key = try KeyText.privateKey(variable, in: environment, .edDSA)
        {
            keys.append(try KeyText.releaseKey(key))
        }
        return keys
    }

    /// Says when the gateway sends devices elsewhere (UP-1).
    func warnOfOtherChannel(_ manifestURL: String, gateway: String?) async {
        guard let origin = gateway ?? project["api"]?["origin"]?.string else { return }
        let base = origin.hasSuffix("/") ? String(origin.dropLast()) : origin
        let served: String?
        do {
            let url = try WebURL(base + "/api/v1.0/config/")
            let transport = transport
            let response = try await withTimeLimit(.seconds(10), time: SystemTime()) {
                NacreError("transport.timeout", "it does not answer")
            } operation: {
                let answer = try await transport.send(HTTPRequest(.get, url))
                guard answer.status == .ok else {
                    throw NacreError("transport.status", "it answers \(answer.status.rawValue)")
                }
                return try await answer.body.collect(upTo: 1_000_000)
            }
            served = try JSONParser.parse(response)["MOBILE_OTA_MANIFEST_URL"]?.string
        } catch {
            if gateway != nil {
                progress.say(
                    "note: which channel \(base) serves is not known: \((error as? NacreError)?.message ?? "\(error)")")
            }
            return
        }
        guard served != manifestURL else { return }
        progress.say(
            served.map {
                "WARNING: the gateway \(base) sends devices to \($0), and this was published under \(manifestURL); see "
                    + "MOBILE_OTA_MANIFEST_URL there."
            } ?? "WARNING: the gateway \(base) serves no MOBILE_OTA_MANIFEST_URL; devices look for no updates.")
    }
}
