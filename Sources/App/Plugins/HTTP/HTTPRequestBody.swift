// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreBridge
import NacreCore
import NacreHTTP

/// The body of a `CapacitorHttp` call: `data` in the form that its content type asks for. What cannot be carried is
/// refused, never sent as something else (NB-2).
struct HTTPRequestBody {
    let bytes: [UInt8]
    /// The type to send, where it is not the page's own.
    let type: String?

    init(_ data: JSONValue, dataType: String?, contentType: String?, random: any RandomSource) throws {
        let media = (contentType ?? "").prefix { $0 != ";" }.trimmingSpaces().lowercased()
        if dataType == "formData" || media == "multipart/form-data" {
            let boundary = "nacre-" + random.identifier()
            bytes = try Self.multipart(data, boundary)
            type = "multipart/form-data; boundary=" + boundary
            return
        }
        if dataType == "file" {
            guard let text = data.string, let decoded = Base64.decode(text) else {
                throw BridgeRejection.invalid("With dataType \"file\" the data is base64.")
            }
            bytes = decoded
            type = contentType == nil ? "application/octet-stream" : nil
            return
        }
        switch data {
        case .string(let text):
            bytes = Array(text.utf8)
            type = contentType == nil ? "text/plain; charset=utf-8" : nil
        case .object(let members) where media == "application/x-www-form-urlencoded":
            var form = FormFields()
            for (name, value) in members.sorted(by: { $0.key < $1.key }) {
                for value in value.array ?? [value] { form.append(name, try Self.plain(value)) }
            }
            bytes = Array(form.encoded.utf8)
            type = nil
        default:
            guard media.isEmpty || media == "application/json" || media.hasSuffix("+json") else {
                throw BridgeRejection.invalid("An object cannot be sent as \(media); give a string.")
            }
            bytes = Array(data.text.utf8)
            type = contentType == nil ? "application/json" : nil
        }
    }

    private static func plain(_ value: JSONValue) throws -> String {
        switch value {
        case .string(let text): return text
        case .bool, .integer, .number: return value.text
        default: throw BridgeRejection.invalid("A form holds texts, numbers and truth values.")
        }
    }

    /// RFC 7578, names escaped as browsers do.
    private static func multipart(_ data: JSONValue, _ boundary: String) throws -> [UInt8] {
        var out: [UInt8] = []
        func part(_ name: String, _ file: String?, _ type: String?, _ bytes: [UInt8]) throws {
            var head = "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(escape(name))\""
            if let file { head += "; filename=\"\(escape(file))\"" }
            head += "\r\n"
            if let type {
                guard type.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else {  // guard: http-multipart-type
                    throw BridgeRejection.invalid("The contentType of \(name) is none.")
                }
                head += "Content-Type: \(type)\r\n"
            }
            out += Array((head + "\r\n").utf8) + bytes + Array("\r\n".utf8)
        }
        if let members = data.object {
            for (name, value) in members.sorted(by: { $0.key < $1.key }) {
                try part(name, nil, nil, Array(try plain(value).utf8))
            }
        } else {
            guard let entries = data.array else { throw BridgeRejection.invalid("The data of a form is its entries.") }
            for entry in entries {
                guard let name = entry["key"]?.string, let value = entry["value"] else {
                    throw BridgeRejection.invalid("Each entry of a form has key and value.")
                }
                guard entry["type"]?.string == "base64File" else {
                    try part(name, nil, nil, Array(try plain(value).utf8))
                    continue
                }
                guard let bytes = value.string.flatMap({ Base64.decode($0) }) else {
                    throw BridgeRejection.invalid("The file \(name) is not base64.")
                }
                try part(
                    name, entry["fileName"]?.string ?? "file",
                    entry["contentType"]?.string ?? "application/octet-stream", bytes)
            }
        }
        return out + Array("--\(boundary)--\r\n".utf8)
    }

    /// WHATWG HTML, "multipart/form-data encoding algorithm".
    private static func escape(_ text: String) -> String {
        var out: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case 0x0A: out += Array("%0A".utf8)
            case 0x0D: out += Array("%0D".utf8)
            case 0x22: out += Array("%22".utf8)
            default: out.append(byte)
            }
        }
        return String(decoding: out, as: UTF8.self)
    }
}
