// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore

/// `GET /api/v1.0/users/me/`: who is signed in (SE-3).
package struct UserProfile: WireMessage, Equatable {
    /// A stable identifier: a hash of issuer and subject, so that two issuers never meet.
    package let id: String
    /// The address the identity provider gives, if any.
    package let email: String?
    /// The name to show, if any.
    package let fullName: String?
    /// The preferred language, such as `fr`, if known.
    package let language: String?

    package init(id: String, email: String?, fullName: String?, language: String?) {
        self.id = id
        self.email = email
        self.fullName = fullName
        self.language = language
    }

    package init(json: JSONValue) throws(NacreError) {
        // Other backends use numbers here.
        if let number = json["id"]?.integer { id = String(number) } else { id = try json.requiredText("id") }
        email = try json.optionalText("email")
        fullName = try json.optionalText("full_name")
        language = try json.optionalText("language")
    }

    package var json: JSONValue {
        [
            "id": .string(id), "email": JSONValue(email), "full_name": JSONValue(fullName),
            "language": JSONValue(language),
        ]
    }
}
