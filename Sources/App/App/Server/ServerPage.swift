// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacrePorts

/// The page that asks a person for the app's server, in the bundle's place.
struct ServerPage: BundleSource {
    let stamp: String

    func file(at path: String) async throws -> BundleFile? {
        let (bytes, type): ([UInt8], String)
        switch path {
        case "/index.html": (bytes, type) = (PackageResources.server_html, "text/html; charset=utf-8")
        case "/server.css": (bytes, type) = (PackageResources.server_css, "text/css; charset=utf-8")
        case "/server.js": (bytes, type) = (PackageResources.server_js, "text/javascript; charset=utf-8")
        default: return nil
        }
        return BundleFile(size: bytes.count, type: type, tag: "server-\(bytes.count)-\(stamp)") { range in
            HTTPBody.bytes(Array(bytes[range])).stream
        }
    }
}
