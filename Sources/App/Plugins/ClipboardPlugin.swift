// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreBridge
package import NacreCore
package import NacrePorts

/// Capacitor's `Clipboard`: one text, address or picture.
package struct ClipboardPlugin: BridgePlugin {
    package let name = "Clipboard"
    package let methods = [BridgeMethod("read"), BridgeMethod("write")]
    private let clipboard: any Clipboard

    package init(clipboard: any Clipboard) { self.clipboard = clipboard }

    package func call(_ method: String, options: JSONValue, call: BridgeCallContext) async throws -> JSONValue {
        if method == "read" {
            switch try await clipboard.read() {
            case .text(let text): return ["value": .string(text), "type": "text/plain"]
            case .png(let bytes):
                return ["value": .string("data:image/png;base64," + Base64.encode(bytes)), "type": "image/png"]
            case nil: throw BridgeRejection(code: "EMPTY", message: "There is no data on the clipboard")
            }
        }
        let options = Options("Clipboard.write", options)
        if let text = (options["string"] ?? options["url"])?.string {
            try await clipboard.write(.text(text))
        } else if let image = options["image"]?.string {
            guard image.hasPrefix("data:image/"), let comma = image.firstRange(ofText: ";base64,"),
                let bytes = Base64.decode(image[comma.upperBound...])
            else { throw BridgeRejection.invalid("Clipboard.write: {image} is a data URL in base64.") }
            try await clipboard.write(.png(bytes))
        } else {
            throw BridgeRejection.invalid("No data provided")
        }
        return .null
    }
}
