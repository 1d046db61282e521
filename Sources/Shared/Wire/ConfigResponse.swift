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

    package init(environment: String, version: String, updateManifest: String?) {
        self.environment = environment
        self.version = version
        self.updateManifest = updateManifest
    }

    package init(json: JSONValue) throws(NacreError) {
        guard json.object != nil else { throw NacreError("wire.malformed", "The configuration is not a JSON object.") }
        environment = try json.optionalText("ENVIRONMENT") ?? "production"
        version = try json.optionalText("NACRE_VERSION") ?? ""
        updateManifest = try json.optionalText("MOBILE_OTA_MANIFEST_URL")
    }

    package var json: JSONValue {
        [
            "ENVIRONMENT": .string(environment), "NACRE_VERSION": .string(version),
            "MOBILE_OTA_MANIFEST_URL": JSONValue(updateManifest),
        ]
    }
}
