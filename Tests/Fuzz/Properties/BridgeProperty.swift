// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreBridge
import NacreCore

/// A bridge message that is taken says where it comes from and is a call or an error; its answer names the same call.
enum BridgeProperty {
    @Sendable static func check(_ bytes: [UInt8]) throws(Violation) -> Bool {
        // The engine hands a text over: what was no UTF-8 has been repaired by then.
        let text = String(decoding: bytes, as: UTF8.self)
        guard let envelope = try? BridgeEnvelope(parsing: text) else { return false }
        guard let value = try? JSONParser.parse(text) else { throw Violation("taken although it is no JSON") }
        try demand(
            value["origin"]?.string?.utf8.elementsEqual(envelope.source.origin.utf8) == true
                && value["top"]?.bool == envelope.source.isTopFrame, "another source than it says")
        guard case .call(let call) = envelope.message else { return true }
        try demand(call.callbackID.utf8.count <= 64, "a callback that is longer than 64 bytes")
        try demand(call.options.object != nil, "options that are no object")
        for outcome in [
            Result<JSONValue, BridgeRejection>.success(call.options), .failure(.unimplemented(call, platform: "linux")),
        ] {
            let text = BridgeResult(call, outcome: outcome).text
            guard let answer = try? JSONParser.parse(text) else { throw Violation("an answer that is no JSON") }
            try demand(
                answer["callbackId"]?.string?.utf8.elementsEqual(call.callbackID.utf8) == true,
                "an answer to another call")
        }
        return true
    }
}
