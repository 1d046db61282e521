// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreHTTP
import NacreReleases

/// An S3-compatible store and the key to it.
package struct S3Configuration: Sendable {
    /// Such as `https://s3.example.org`; buckets are addressed by path.
    package var endpoint: Origin
    package var bucket: String
    /// Before every key; empty, or with a slash at its end.
    package var prefix: String
    package var region: String
    let credentials: S3Credentials

    /// Reads the environment: the names of the source system, else those of AWS.
    ///
    /// - Throws: `configuration.s3` that names the variable and never shows a value.
    package init(bucket named: String?, environment: [String: String]) throws(NacreError) {
        func value(_ names: [String]) -> String? { names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty } }
        func demand(_ names: [String]) throws(NacreError) -> String {
            guard let found = value(names) else {
                throw NacreError(
                    "configuration.s3", "\(names.joined(separator: " or ")) is not set; the store needs it.")
            }
            return found
        }
        var name = if let named { named } else { try demand(["MOBILE_OTA_S3_BUCKET"]) }
        var prefix = value(["MOBILE_OTA_S3_KEY_PREFIX"]) ?? ""
        if let slash = name.firstIndex(of: "/") {
            prefix = String(name[name.index(after: slash)...])
            name = String(name[..<slash])
        }
        while prefix.hasPrefix("/") { prefix.removeFirst() }
        if !prefix.isEmpty, !prefix.hasSuffix("/") { prefix += "/" }
        guard ReleaseStore.isName(name), prefix.split(separator: "/").allSatisfy({ ReleaseStore.isName(String($0)) })
        else {
            throw NacreError(
                "configuration.s3",
                "\"\(name.prefix(60))\" with the prefix \"\(prefix.prefix(60))\" is no bucket: letters, digits, . _ - only."
            )
        }
        (self.bucket, self.prefix) = (name, prefix)
        region = value(["MOBILE_OTA_S3_REGION", "AWS_REGION", "AWS_DEFAULT_REGION"]) ?? "us-east-1"
        let address =
            value(["MOBILE_OTA_S3_ENDPOINT", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"])
            ?? "https://s3.\(region).amazonaws.com"
        do throws(NacreError) { endpoint = try Origin(address) } catch {
            throw NacreError("configuration.s3", "MOBILE_OTA_S3_ENDPOINT: \(error.message)", cause: error)
        }
        credentials = S3Credentials(
            accessKey: try demand(["MOBILE_OTA_S3_ACCESS_KEY", "AWS_ACCESS_KEY_ID"]),
            secretKey: try demand(["MOBILE_OTA_S3_SECRET_KEY", "AWS_SECRET_ACCESS_KEY"]),
            sessionToken: environment["MOBILE_OTA_S3_ACCESS_KEY"] == nil ? value(["AWS_SESSION_TOKEN"]) : nil)
        guard region.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: ",") }),
            credentials.isPrintable
        else {
            throw NacreError(
                "configuration.s3",
                "The store's region or key has a character that such a thing never has; copy it again.")
        }
    }
}

/// Never shown: not in an error, not in a log.
struct S3Credentials: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    let accessKey: String
    let secretKey: String
    let sessionToken: String?

    var description: String { "S3Credentials(…)" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: []) }

    /// A line end in a header would be a second header.
    var isPrintable: Bool {
        [accessKey, secretKey, sessionToken ?? ""].allSatisfy { text in
            text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
        }
    }
}
