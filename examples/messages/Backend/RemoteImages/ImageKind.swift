// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// What kind of picture some bytes are, by their first ones: what a server says of them is no proof.
enum ImageKind {
    static func of(_ bytes: [UInt8]) -> String? {
        func begins(_ text: String, at offset: Int = 0) -> Bool {
            bytes.count >= offset + text.utf8.count && bytes[offset...].starts(with: text.utf8)
        }
        if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { return "image/png" }
        if bytes.starts(with: [0xFF, 0xD8, 0xFF]) { return "image/jpeg" }
        if begins("GIF87a") || begins("GIF89a") { return "image/gif" }
        if begins("RIFF"), begins("WEBP", at: 8) { return "image/webp" }
        if begins("ftypavif", at: 4) || begins("ftypavis", at: 4) { return "image/avif" }
        if begins("BM"), bytes.count > 26 { return "image/bmp" }
        return nil
    }
}
