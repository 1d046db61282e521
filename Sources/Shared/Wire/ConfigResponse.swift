// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore

/// `GET /api/v1.0/config/`: what a client may know before anyone signs in. Names are those of the source systems.
package struct ConfigResponse: WireMessage, Equatable {
    /// `production` or `development`.
    package let environment: String
    /// The version of the server half.
    package let version: String
    /// The manifest of the release channel that devices follow (UP-1); nil turns updates over the air off.
    package let updateManifest: String?
    /// A signed word that the channel's release is still the newest; nil where the server has none.
    package let freshness: JSONValue?

    package init(environment: String, version: String, updateManifest: String?, freshness: JSONValue? = nil) {
        self.environment = environment
        self.version = version
        self.updateManifest = updateManifest
        self.freshness = freshness
    }

    package init(json: JSONValue) throws(NacreError) {
        guard json.object != nil else { throw NacreError("wire.malformed", "The configuration is not a JSON object.") }
        environment = try json.optionalText("ENVIRONMENT") ?? "production"
        version = try json.optionalText("NACRE_VERSION") ?? ""
        updateManifest = try json.optionalText("MOBILE_OTA_MANIFEST_URL")
        freshness = json["MOBILE_OTA_FRESHNESS"].flatMap { $0.object == nil ? nil : $0 }
    }

    package var json: JSONValue {
        var members: [String: JSONValue] = [
            "ENVIRONMENT": .string(environment), "NACRE_VERSION": .string(version),
            "MOBILE_OTA_MANIFEST_URL": JSONValue(updateManifest),
        ]
        members["MOBILE_OTA_FRESHNESS"] = freshness
        return .object(members)
    }
}
