// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreApp
import NacreCore
import NacrePlugins

/// What `nacre run` was asked for.
struct RunOptions {
    static let usage =
        "usage: nacre run [--dev-server URL] [--phone] [--profile FILE] [--page-channel KIND] [--choose-server] [FOLDER] "
        + "[LINK…]"

    /// The folder of `nacre.json`, absolute.
    let folder: String
    let links: [String]
    let isPhone: Bool
    var configuration: AppConfiguration
    /// The same call for a start of the app anew: what was for this one start is gone.
    let again: [String]
    /// `--choose-server`: ask for the server again (`api.choose`).
    let asksForServer: Bool
    /// `--profile` or `NACRE_PROFILE`: a device played by a script (SH-5, SH-9), in development only.
    let profile: DeviceProfile?
    /// `--page-channel` or `NACRE_PAGE_CHANNEL`: `patched` tries the channel of systems whose web view takes no proxy, in
    /// development only. Default `proxy`.
    let pageChannel: PageChannelKind
    let environment: [String: String]

    /// Reads arguments and the folder's `nacre.json`.
    ///
    /// - Throws: `usage` or `configuration.*`.
    init(_ arguments: [String], _ environment: [String: String]) throws(NacreError) {
        var environment = environment
        var folders: [String] = []
        var links: [String] = []
        var isPhone = false
        var asksForServer = false
        var again: [String] = []
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--dev-server":
                guard let value = rest.popFirst() else {
                    throw NacreError(
                        "usage", "--dev-server needs an address such as http://localhost:5173. \(Self.usage)")
                }
                environment["MOBILE_DEV_SERVER_URL"] = value
            case "--phone":
                isPhone = true
                again.append(argument)
            case "--choose-server": asksForServer = true
            case "--profile":
                guard let value = rest.popFirst() else {
                    throw NacreError("usage", "--profile needs the file of a device profile. \(Self.usage)")
                }
                environment["NACRE_PROFILE"] = value
            case "--page-channel":
                guard let value = rest.popFirst() else {
                    throw NacreError("usage", "--page-channel needs a kind: proxy or patched. \(Self.usage)")
                }
                environment["NACRE_PAGE_CHANNEL"] = value
            case _ where argument.hasPrefix("-"):
                throw NacreError("usage", "\(argument) is not an option of run. \(Self.usage)")
            // The desktop hands links over as they are; which are the app's own is decided where they arrive.
            case _ where Self.isLink(argument): links.append(argument)
            case "": break
            default: folders.append(argument)
            }
        }
        guard folders.count <= 1 else { throw NacreError("usage", "run takes one folder. \(Self.usage)") }
        self.again = again + folders
        self.asksForServer = asksForServer
        folder = URL(fileURLWithPath: folders.first ?? ".").standardizedFileURL.path
        self.links = links
        self.isPhone = isPhone
        self.environment = environment
        let file = folder + "/nacre.json"
        guard let content = FileManager.default.contents(atPath: file) else {
            throw NacreError(
                "configuration.file", "There is no \(file) to read; name the folder that holds the app's nacre.json.")
        }
        // What runs from a folder is being developed, unless it is said to be a release.
        configuration = try AppConfiguration(
            parsing: String(decoding: content, as: UTF8.self), file: file, environment: environment,
            isDevelopment: (environment["NACRE_ENV"] ?? "development") == "development")
        guard !asksForServer || configuration.choosesServer else {
            throw NacreError("usage", "--choose-server: \(file) does not let a person choose (\"api.choose\").")
        }
        profile = try Self.profile(environment["NACRE_PROFILE"] ?? "", isDevelopment: configuration.isDevelopment)
        pageChannel = try Self.pageChannel(
            environment["NACRE_PAGE_CHANNEL"] ?? "", isDevelopment: configuration.isDevelopment)
    }

    private static func pageChannel(_ name: String, isDevelopment: Bool) throws(NacreError) -> PageChannelKind {
        guard !name.isEmpty else { return .proxy }
        guard let kind = PageChannelKind(rawValue: name) else {
            throw NacreError(
                "run.page_channel", "There is no page channel \"\(name)\" (NACRE_PAGE_CHANNEL); it is proxy or patched."
            )
        }
        guard isDevelopment || kind == .proxy else {
            throw NacreError(
                "run.page_channel", "NACRE_PAGE_CHANNEL is set; a release on Linux uses the web view's own network.")
        }
        return kind
    }

    private static func profile(_ file: String, isDevelopment: Bool) throws(NacreError) -> DeviceProfile? {
        guard !file.isEmpty else { return nil }
        guard isDevelopment else {
            throw NacreError("run.profile", "A device profile (NACRE_PROFILE) is set; a release shows the real device.")
        }
        guard let content = FileManager.default.contents(atPath: file) else {
            throw NacreError("run.profile", "There is no device profile at \(file) to read.")
        }
        return try DeviceProfile(parsing: String(decoding: content, as: UTF8.self), file: file)
    }

    /// The text of `api.authorities`, or nil.
    ///
    /// - Throws: `configuration.authorities`.
    func authorities() throws(NacreError) -> String? {
        guard let name = configuration.authorities else { return nil }
        let text = FileManager.default.contents(atPath: folder + "/" + name).map { String(decoding: $0, as: UTF8.self) }
        guard let text, text.contains("-----BEGIN CERTIFICATE-----") else {
            throw NacreError(
                "configuration.authorities",
                "api.authorities: \(folder)/\(name) is no readable PEM file of certificates.")
        }
        return text
    }

    private static func isLink(_ text: String) -> Bool {
        guard let colon = text.firstIndex(of: ":"), let first = text.unicodeScalars.first,
            first.properties.isAlphabetic
        else { return false }
        return text[..<colon].allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "+.-".contains($0)) }
    }
}
