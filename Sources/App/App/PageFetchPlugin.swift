// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreBridge
import NacreCore
import NacreHTTP
import NacrePage
import Synchronization

/// What the patched page's script calls: the bridge's end of `PatchedFetch`. No bundle calls it by itself.
final class PageFetchPlugin: BridgePlugin {
    static let pluginName = "NacreFetch"

    let name = PageFetchPlugin.pluginName
    let methods = ["open", "write", "finish", "cancel", "socket", "send"].map { BridgeMethod($0) }
    private let patched = Mutex<PatchedFetch?>(nil)

    init() {}

    /// From now on calls are answered.
    func connect(_ patched: PatchedFetch) { self.patched.withLock { $0 = patched } }

    func call(_ method: String, options: JSONValue, call: BridgeCallContext) async throws -> JSONValue {
        guard let patched = patched.withLock({ $0 }) else {
            throw BridgeRejection(code: "UNAVAILABLE", message: "This page's requests are not carried here.")
        }
        let load = call.pageLoad
        switch method {
        case "open": return try await patched.open(PatchedRequest(options), load: load).json
        case "socket":
            let protocols = (options["protocols"]?.array ?? []).compactMap(\.string)
            let head = try await patched.openSocket(PatchedRequest(options), protocols: protocols, load: load)
            return ["protocol": .string(head.chosen), "token": .string(head.token)]
        case "write": try await patched.write(id(options), bytes(options["data"]), load: load)
        case "finish": try await patched.finish(id(options), load: load)
        case "cancel": await patched.cancel(try id(options), load: load)
        default: try await patched.send(message(options), on: id(options), load: load)
        }
        return .null
    }

    private func id(_ options: JSONValue) throws -> String {
        guard let id = options["id"]?.string else { throw malformed }
        return id
    }

    private func bytes(_ value: JSONValue?) throws -> [UInt8] {
        guard let text = value?.string, let bytes = Base64.decode(text) else { throw malformed }
        return bytes
    }

    private func message(_ options: JSONValue) throws -> PatchedSocket.Message {
        switch options["kind"]?.string {
        case "text":
            guard let text = options["data"]?.string else { throw malformed }
            return .text(Array(text.utf8))
        case "binary": return .binary(try bytes(options["data"]))
        case "close":
            let code = options["code"]?.integer.map(Int.init)
            guard code.map({ $0 == 1000 || (3000...4999).contains($0) }) ?? true else { throw malformed }
            return .close(code: code, reason: Array((options["reason"]?.string ?? "").utf8))
        default: throw malformed
        }
    }

    private var malformed: BridgeRejection {
        BridgeRejection(code: "INVALID", message: "The call is not one of the page's script.")
    }
}
