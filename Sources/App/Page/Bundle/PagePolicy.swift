// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreHTTP

/// The Content-Security-Policy of a bundle's document that brings none (NB-10).
///
/// Made when the document is served, so that files stay as they were built: own scripts only, plus the hashes of the
/// document's inline scripts. `srcdoc` frames inherit it, so mail may show remote pictures and styles, never run anything.
enum PagePolicy {
    /// The policy for this document, or nil when it has its own.
    static func header(for html: [UInt8], api: Origin?) -> String? {
        let found = InlineScripts(html)
        guard !found.hasPolicy else { return nil }
        let hashes = found.scripts.map { "'sha256-\(Base64.encode(SHA256.hash($0)))'" }
        var connect = "'self' https: wss: blob: data:"
        if let api { connect += " \(api) wss://\(api.authority)" }
        return [
            "default-src 'self'",
            (["script-src 'self' 'wasm-unsafe-eval'"] + hashes).joined(separator: " "),
            "style-src 'self' 'unsafe-inline' https:",
            "img-src 'self' https: data: blob:",
            "media-src 'self' https: data: blob:",
            "font-src 'self' https: data:",
            "connect-src \(connect)",
            "worker-src 'self' blob:",
            "frame-src 'self' https: blob: data:",
            "object-src 'none'", "base-uri 'self'", "form-action 'self' https:", "frame-ancestors 'self'",
        ].joined(separator: "; ")
    }
}
