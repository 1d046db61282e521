// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreProject

/// JSON is JavaScript: what the JSON parser reads, the script reader reads as the same value. And a script that is taken
/// whole stands for a value that, written as JSON, is read again as itself.
enum ScriptProperty {
    @Sendable static func check(_ bytes: [UInt8]) throws(Violation) -> Bool {
        if let json = try? JSONParser.parse(bytes) {
            let read = value(Array("export default {\"v\":".utf8) + bytes + Array("}".utf8))
            try demand(read?.json == ["v": json], "\(json.text) is read as \(String(describing: read))")
            let noisy = value(Array("/*{*/ const config = { 'v': (".utf8) + bytes + Array(") as const, } // }".utf8))
            try demand(noisy == read, "with comments, brackets and commas: \(String(describing: noisy))")
        }
        guard let script = try? ConfigurationScript(bytes, file: "fuzz") else { return false }
        guard script.value.members != nil else { throw Violation("taken, although no object") }
        if let json = script.value.json {
            let again = value(Array("module.exports = ".utf8) + json.bytes)
            try demand(again?.json?.bytes == json.bytes, "another value when read again: \(json.text)")
        }
        return true
    }

    private static func value(_ bytes: [UInt8]) -> ScriptValue? {
        try? ConfigurationScript(bytes, file: "fuzz").value
    }
}
