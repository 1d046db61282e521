// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// The media type of a file by its extension: what a static web bundle holds.
enum MediaTypes {
    private static let types: [String: String] = [
        "html": "text/html; charset=utf-8", "htm": "text/html; charset=utf-8", "css": "text/css; charset=utf-8",
        "js": "text/javascript; charset=utf-8", "mjs": "text/javascript; charset=utf-8",
        "json": "application/json", "map": "application/json", "webmanifest": "application/manifest+json",
        "wasm": "application/wasm", "txt": "text/plain; charset=utf-8", "md": "text/markdown; charset=utf-8",
        "xml": "application/xml", "csv": "text/csv; charset=utf-8", "ics": "text/calendar; charset=utf-8",
        "svg": "image/svg+xml", "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif",
        "webp": "image/webp", "avif": "image/avif", "ico": "image/x-icon", "bmp": "image/bmp",
        "woff": "font/woff", "woff2": "font/woff2", "ttf": "font/ttf", "otf": "font/otf",
        "mp4": "video/mp4", "m4v": "video/mp4", "webm": "video/webm", "mov": "video/quicktime", "vtt": "text/vtt",
        "mp3": "audio/mpeg", "m4a": "audio/mp4", "ogg": "audio/ogg", "oga": "audio/ogg", "opus": "audio/ogg",
        "wav": "audio/wav", "flac": "audio/flac", "pdf": "application/pdf", "zip": "application/zip",
        "gz": "application/gzip",
    ]

    /// The type for a path; bytes without a known extension are just bytes.
    static func type(ofPath path: String) -> String {
        let name = path[(path.lastIndex(of: "/") ?? path.startIndex)...]
        guard let dot = name.lastIndex(of: ".") else { return "application/octet-stream" }
        return types[name[name.index(after: dot)...].lowercased()] ?? "application/octet-stream"
    }

    /// The usual extension of a type, or nil for bytes of any kind.
    static func usualExtension(of type: String) -> String? { extensions[type] }

    private static let extensions: [String: String] = [
        "text/plain": "txt", "text/html": "html", "text/css": "css", "text/csv": "csv", "text/calendar": "ics",
        "text/markdown": "md", "text/vcard": "vcf", "application/json": "json", "application/xml": "xml",
        "image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp", "image/avif": "avif",
        "image/svg+xml": "svg", "application/pdf": "pdf", "application/zip": "zip", "application/gzip": "gz",
        "video/mp4": "mp4", "video/webm": "webm", "audio/mpeg": "mp3", "audio/ogg": "ogg", "audio/wav": "wav",
        "audio/flac": "flac", "message/rfc822": "eml",
    ]
}
