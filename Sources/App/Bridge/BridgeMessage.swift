// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore

/// A call of the page, in the shape Capacitor 8 gives it.
package struct BridgeCall: Sendable, Equatable {
    /// Names the call on the page's side; `-1` when nobody waits.
    package let callbackID: String
    package let pluginID: String
    package let methodName: String
    package let options: JSONValue

    package init(callbackID: String, pluginID: String, methodName: String, options: JSONValue = [:]) {
        self.callbackID = callbackID
        self.pluginID = pluginID
        self.methodName = methodName
        self.options = options
    }
}

/// What the isolated world hands over: where the message comes from, and what it says.
package struct BridgeEnvelope: Sendable, Equatable {
    package enum Message: Sendable, Equatable {
        case call(BridgeCall)
        /// An exception that no script of the page has caught.
        case pageError(message: String)
    }

    /// No bridge message is larger: bulk data belongs on the page channel.
    static let largest = 16 * 1024 * 1024

    package let source: BridgeSource
    package let message: Message

    /// Reads one message.
    ///
    /// - Throws: `bridge.malformed` when it is not of the agreed shape, `bridge.too_large` beyond 16 MB.
    package init(parsing text: String) throws(NacreError) {
        guard text.utf8.count <= Self.largest else {  // guard: bridge-size
            throw NacreError("bridge.too_large", "The message is larger than 16 MB; send bulk data with fetch.")
        }
        let value = try JSONParser.parse(text)
        guard let origin = value["origin"]?.string, let top = value["top"]?.bool, let body = value["message"] else {
            throw NacreError("bridge.malformed", "The message is not one of the bridge's script.")
        }
        source = BridgeSource(origin: origin, isTopFrame: top, document: value["document"]?.string ?? "")
        if body["type"]?.string == "js.error" {
            message = .pageError(message: body["error"]?["message"]?.string ?? "unknown")
            return
        }
        guard let callbackID = body["callbackId"]?.string, let plugin = body["pluginId"]?.string,
            let method = body["methodName"]?.string, callbackID.utf8.count <= 64
        else { throw NacreError("bridge.malformed", "The message lacks callbackId, pluginId or methodName.") }
        let options = body["options"] ?? [:]
        guard options.object != nil else {
            throw NacreError("bridge.malformed", "The options of \(plugin).\(method) must be an object.")
        }
        message = .call(
            BridgeCall(callbackID: callbackID, pluginID: plugin, methodName: method, options: options))
    }
}

/// What goes back to the page for one call or one event.
package struct BridgeResult: Sendable, Equatable {
    package let call: BridgeCall
    /// Whether the page keeps the callback for further results.
    package let save: Bool
    package let outcome: Result<JSONValue, BridgeRejection>

    package init(_ call: BridgeCall, save: Bool = false, outcome: Result<JSONValue, BridgeRejection>) {
        self.call = call
        self.save = save
        self.outcome = outcome
    }

    /// The result as the page's script takes it.
    package var text: String {
        var members: [String: JSONValue] = [
            "callbackId": .string(call.callbackID), "pluginId": .string(call.pluginID),
            "methodName": .string(call.methodName), "save": .bool(save),
        ]
        switch outcome {
        case .success(let data):
            members["success"] = true
            if !data.isNull { members["data"] = data }
        case .failure(let rejection):
            members["success"] = false
            members["error"] = rejection.json
        }
        return JSONValue.object(members).text
    }
}

/// Why a call was rejected, as the page's exception carries it.
package struct BridgeRejection: Error, Sendable, Equatable {
    package let code: String
    package let message: String
    package let data: JSONValue

    package init(code: String, message: String, data: JSONValue = .null) {
        self.code = code
        self.message = message
        self.data = data
    }

    /// Capacitor's word for "no such plugin or method here" (NB-9).
    package static func unimplemented(_ call: BridgeCall, platform: String) -> BridgeRejection {
        BridgeRejection(
            code: "UNIMPLEMENTED",
            message: "\"\(call.pluginID).\(call.methodName)()\" is not implemented on \(platform)")
    }

    /// Any error as a rejection: what is ours keeps its code, of anything else only the type is told.
    package init(_ error: any Error) {
        switch error {
        case let rejection as BridgeRejection: self = rejection
        case let error as NacreError: self.init(code: error.code.rawValue, message: error.message)
        case is CancellationError: self.init(code: "CANCELLED", message: "The call was cancelled.")
        default: self.init(code: "UNAVAILABLE", message: "The call failed: \(type(of: error)).")
        }
    }

    /// The answer to a message of which nobody can say which call it is; the isolated world knows.
    package var refusal: String { JSONValue.object(["refused": json]).text }

    var json: JSONValue {
        var members: [String: JSONValue] = [
            "code": .string(code), "message": .string(message), "errorMessage": .string(message),
        ]
        if !data.isNull { members["data"] = data }
        return .object(members)
    }
}
