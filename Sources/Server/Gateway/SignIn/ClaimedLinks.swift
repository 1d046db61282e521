// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreHTTP

/// https links of the gateway that installed apps claim (HO-14): Universal Links and App Links. What a hand-off to a
/// scheme would carry goes there instead, on systems where an app can prove that the link is its own.
package struct ClaimedLinks: Sendable {
    /// Where each scheme's hand-off goes.
    package var links: [String: WebURL] = [:]
    /// Apple's apps as `TEAMID.bundle.identifier`.
    package var appleApps: [String] = []
    /// Android's apps: package name, and the SHA-256 fingerprints of every certificate that signs them.
    package var androidApps: [String: [String]] = [:]

    package init() {}

    /// What stands before `auth?token=…` or `logout` for this scheme in the browser that sent `fields`.
    ///
    /// The sign-in request is the same on every system (HO-14), so that the browser's own word for its system is all there
    /// is to go by. It decides between two ways to one app, both of which need the app's verifier: a wrong word costs a
    /// page that leads nowhere, and opens nothing.
    func base(_ scheme: String, _ fields: HTTPFields) -> String {
        let agent = fields["User-Agent"] ?? ""
        guard let link = links[scheme], claims(agent) else { return scheme + "://" }  // guard: claimed-link-system
        return "\(link.origin)\(Self.folder(link))"
    }

    /// Whether this browser passes a claimed link to its app. Elsewhere the scheme stays, also where no app of that system
    /// may claim the link: the system would fetch our association file in vain and show our page instead.
    private func claims(_ agent: String) -> Bool {
        if agent.contains("Android") { return !androidApps.isEmpty }
        guard !appleApps.isEmpty else { return false }  // guard: claimed-link-app
        if ["iPhone", "iPad", "iPod"].contains(where: agent.contains) { return true }
        // On a Mac only Safari does (an iPad says that it is one, in every browser of its).
        let others = ["Chrome/", "Chromium/", "Firefox/"]
        // guard: claimed-link-mac
        return agent.contains("Macintosh") && agent.contains("Safari/") && !others.contains(where: agent.contains)
    }

    /// The link's path with a slash at its end.
    static func folder(_ link: WebURL) -> String { link.path.hasSuffix("/") ? link.path : link.path + "/" }

    /// Checks the settings against the gateway's own origin.
    ///
    /// - Throws: `configuration.value` that says what is wrong.
    package func validate(origin: Origin, schemes: [String]) throws(NacreError) {
        func fault(_ message: String) -> NacreError { NacreError("configuration.value", message) }
        for (scheme, link) in links.sorted(by: { $0.key < $1.key }) {
            guard schemes.contains(scheme) else {
                throw fault(
                    "MOBILE_AUTH_CALLBACK_LINKS names the scheme \"\(scheme)\", which MOBILE_AUTH_CALLBACK_SCHEMES does "
                        + "not; add it there.")
            }
            // Only our own host can vouch for an app, by the association files it serves.
            guard link.origin == origin, link.query == nil, link.path != "/" else {  // guard: claimed-link-origin
                throw fault(
                    "MOBILE_AUTH_CALLBACK_LINKS: the link of \"\(scheme)\" must be a path under \(origin), such as "
                        + "\(origin)/app.")
            }
            let isOurs = ["/api/", "/.well-known/"].contains { Self.folder(link).hasPrefix($0) }
            guard !isOurs else {
                throw fault("MOBILE_AUTH_CALLBACK_LINKS: the link of \"\(scheme)\" must not be under \(link.path).")
            }
        }
        for app in appleApps where !Self.isAppleApp(app) {
            throw fault(
                "MOBILE_APPLE_APP_IDS has \"\(app)\"; write TEAMID.bundle.identifier, such as A1B2C3D4E5.org.example.app."
            )
        }
        for (name, fingerprints) in androidApps {
            guard !fingerprints.isEmpty, fingerprints.allSatisfy(Self.isFingerprint), !name.isEmpty else {
                throw fault(
                    "MOBILE_ANDROID_APPS: \"\(name)\" needs SHA-256 fingerprints of its certificates, 32 pairs of "
                        + "hexadecimal digits with colons.")
            }
        }
    }

    private static func isAppleApp(_ text: String) -> Bool {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        return parts.count == 2 && parts[0].count == 10 && !parts[1].isEmpty
            && parts[0].allSatisfy { $0.isASCII && ($0.isNumber || $0.isUppercase) }
    }

    private static func isFingerprint(_ text: String) -> Bool {
        let pairs = text.split(separator: ":", omittingEmptySubsequences: false)
        return pairs.count == 32 && pairs.allSatisfy { $0.utf8.count == 2 && UInt8($0, radix: 16) != nil }
    }

    /// The paths that apps claim.
    private var folders: [String] { Set(links.values.map(Self.folder)).sorted() }

    /// `/.well-known/apple-app-site-association`; nil where no app is named. `webcredentials` is what lets the system's
    /// sign-in sheet end on an https link.
    var appleAssociation: JSONValue? {
        guard !appleApps.isEmpty else { return nil }
        let apps = JSONValue.array(appleApps.map(JSONValue.string))
        let components = folders.map { folder -> JSONValue in ["/": .string(folder + "*")] }
        return [
            "applinks": ["details": [["appIDs": apps, "components": .array(components)]]],
            "webcredentials": ["apps": apps],
        ]
    }

    /// `/.well-known/assetlinks.json`; nil where no app is named.
    var androidAssociation: JSONValue? {
        guard !androidApps.isEmpty else { return nil }
        return .array(
            androidApps.sorted { $0.key < $1.key }.map { name, fingerprints in
                [
                    "relation": ["delegate_permission/common.handle_all_urls"],
                    "target": [
                        "namespace": "android_app", "package_name": .string(name),
                        "sha256_cert_fingerprints": .array(fingerprints.map { .string($0.uppercased()) }),
                    ],
                ]
            })
    }
}
