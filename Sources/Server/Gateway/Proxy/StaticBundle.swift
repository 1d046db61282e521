// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import FoundationEssentials
package import NacreCore
import NacreHTTP
import NacreRouting

/// A web bundle served under the gateway's own origin: plain files, and the first page for every route of its own.
package actor StaticBundle {
    private static let maximumSize = 64 * 1024 * 1024
    private static let types: [String: String] = [
        "html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8",
        "mjs": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8",
        "json": "application/json", "map": "application/json", "webmanifest": "application/manifest+json",
        "svg": "image/svg+xml", "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif",
        "webp": "image/webp", "avif": "image/avif", "ico": "image/x-icon", "woff2": "font/woff2",
        "woff": "font/woff", "ttf": "font/ttf", "txt": "text/plain; charset=utf-8", "wasm": "application/wasm",
        "mp3": "audio/mpeg", "mp4": "video/mp4", "pdf": "application/pdf", "xml": "application/xml",
    ]

    // Files are read on a thread of its own: a slow disk must not hold the pool.
    private let thread: OwnThread
    private let root: String
    package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// The bundle in the folder `path`.
    ///
    /// - Throws: `bundle.missing` when there is no `index.html`.
    package init(path: String) throws(NacreError) {
        root = URL(filePath: path).resolvingSymlinksInPath().path
        guard FileManager.default.fileExists(atPath: root + "/index.html") else {
            throw NacreError("bundle.missing", "There is no index.html in the web bundle \(path); build it first.")
        }
        thread = OwnThread()
    }

    deinit { thread.stop() }

    /// The file that a request asks for, the first page for a route of the bundle, or 404.
    func respond(to request: HTTPRequest) -> HTTPResponse {
        guard request.method == .get || request.method == .head else {
            var response = HTTPResponse.failure(
                .methodNotAllowed, code: "method_not_allowed", message: "This address can only be read.")
            response.fields["Allow"] = "GET, HEAD"
            return response
        }
        let missing = HTTPResponse.failure(.notFound, code: "not_found", message: "There is nothing at this address.")
        guard ProxyPath.isPlain(request.path), let path = PercentEncoding.decode(request.path) else { return missing }
        let name = path.hasSuffix("/") ? path + "index.html" : path
        if let response = file(name, request) { return response }
        // A route of the bundle has no ending; a missing picture stays missing.
        guard !(path.split(separator: "/").last ?? "").contains(".") else { return missing }
        return file("/index.html", request) ?? missing
    }

    private func file(_ path: String, _ request: HTTPRequest) -> HTTPResponse? {
        let full = URL(filePath: root + path).resolvingSymlinksInPath().path
        // A link inside the bundle must not lead out of it; names with a leading dot are no part of it.
        guard full.hasPrefix(root + "/"), !path.contains("/."),  // guard: bundle-tree
            let attributes = try? FileManager.default.attributesOfItem(atPath: full),
            attributes[.type] as? FileAttributeType == .typeRegular, let size = attributes[.size] as? UInt64,
            size <= Self.maximumSize
        else { return nil }
        let changed = (attributes[.modificationDate] as? Date)?.timeIntervalSince1970 ?? 0
        let tag = "\"\(String(size, radix: 36))-\(String(Int64(changed * 1000), radix: 36))\""
        let ending = full.split(separator: ".").last.map { String($0).lowercased() } ?? ""
        var fields: HTTPFields = [
            "Content-Type": Self.types[ending] ?? "application/octet-stream", "Cache-Control": "no-cache", "ETag": tag,
            "X-Content-Type-Options": "nosniff", "Content-Security-Policy": "frame-ancestors 'none'",
            "Referrer-Policy": "same-origin",
        ]
        if request.fields.tokens("If-None-Match").contains(tag) {
            fields["Content-Type"] = nil
            return HTTPResponse(status: .notModified, fields: fields)
        }
        guard let content = FileManager.default.contents(atPath: full) else { return nil }
        return HTTPResponse(fields: fields, body: .bytes([UInt8](content)))
    }
}
