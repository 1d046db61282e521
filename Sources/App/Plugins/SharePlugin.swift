// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreBridge
package import NacreCore
package import NacreHTTP
package import NacrePorts

/// Capacitor's `Share`. Files must be the app's own (`FileRoots`); an address of the page's own proxy is told as the
/// address it stands for (NB-4).
package struct SharePlugin: BridgePlugin {
    package let name = "Share"
    package let methods = [BridgeMethod("canShare"), BridgeMethod("share")]
    private let target: any ShareTarget
    private let roots: FileRoots
    private let page: Origin

    package init(target: any ShareTarget, roots: FileRoots, page: Origin) {
        self.target = target
        self.roots = roots
        self.page = page
    }

    package func call(_ method: String, options: JSONValue, call: BridgeCallContext) async throws -> JSONValue {
        guard method == "share" else { return ["value": true] }
        let options = Options("Share.share", options)
        var content = ShareContent(
            title: options["title"]?.string, text: options["text"]?.string,
            url: options["url"]?.string.map { MediaProxyURL.unwrap($0, page: page) },
            dialogTitle: options["dialogTitle"]?.string)
        if let files = options["files"] {
            guard let uris = files.array?.map(\.string), uris.allSatisfy({ $0 != nil }) else {
                throw BridgeRejection.invalid("Share.share: {files} is an array of file: URIs.")
            }
            content.files = try uris.compactMap { try path($0 ?? "") }
        }
        if let url = content.url, url.hasPrefix("file:") {
            content.files.append(try path(url))
            content.url = nil
        }
        if let url = content.url, !["https://", "http://"].contains(where: { url.lowercased().hasPrefix($0) }) {
            throw BridgeRejection.invalid("Unsupported url")
        }
        guard content.text != nil || content.url != nil || !content.files.isEmpty else {
            throw BridgeRejection.invalid("Must provide a URL or Message or files")
        }
        guard let activity = try await target.share(content) else {
            throw BridgeRejection(code: "CANCELLED", message: "Share canceled")
        }
        return ["activityType": .string(activity)]
    }

    private func path(_ uri: String) throws -> String {
        guard let place = try? roots.place(of: uri, in: nil) else {  // guard: share-own-files
            throw BridgeRejection(code: "INVALID", message: "Share.share hands over files of the app only.")
        }
        return place.absolute
    }
}
