// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore

/// A message both halves exchange as one JSON object. Members a reader does not know are ignored, so that the halves may
/// differ in version; members it needs must be of the right type.
package protocol WireMessage: Sendable {
    /// Reads the object. - Throws: `wire.malformed` that names the member.
    init(json: JSONValue) throws(NacreError)
    /// The object.
    var json: JSONValue { get }
}

extension WireMessage {
    /// Reads a body. - Throws: `json.malformed`, `wire.malformed`.
    package init(body: [UInt8]) throws(NacreError) { try self.init(json: JSONParser.parse(body)) }
}

extension JSONValue {
    /// The text of a member that must be there. - Throws: `wire.malformed`.
    func requiredText(_ name: String) throws(NacreError) -> String {
        guard let text = self[name]?.string else {
            throw NacreError("wire.malformed", "The message needs the member \"\(name)\" as a string.")
        }
        return text
    }

    /// The text of a member that may be absent or null. - Throws: `wire.malformed`.
    func optionalText(_ name: String) throws(NacreError) -> String? {
        guard let value = self[name], !value.isNull else { return nil }
        guard let text = value.string else {
            throw NacreError("wire.malformed", "The member \"\(name)\" of the message must be a string or null.")
        }
        return text
    }
}
