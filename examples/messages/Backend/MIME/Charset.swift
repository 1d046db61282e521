// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// Bytes of mail as text, in the character sets that mail is written in.
enum Charset {
    /// Where Windows-1252 differs from Latin-1: bytes 0x80 to 0x9F.
    private static let windows: [UInt32] = [
        0x20AC, 0x81, 0x201A, 0x192, 0x201E, 0x2026, 0x2020, 0x2021, 0x2C6, 0x2030, 0x160, 0x2039, 0x152, 0x8D, 0x17D,
        0x8F, 0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x2DC, 0x2122, 0x161, 0x203A, 0x153, 0x9D,
        0x17E, 0x178,
    ]
    /// Where Latin-9 differs from Latin-1.
    private static let latin9: [UInt8: UInt32] = [
        0xA4: 0x20AC, 0xA6: 0x160, 0xA8: 0x161, 0xB4: 0x17D, 0xB8: 0x17E, 0xBC: 0x152, 0xBD: 0x153, 0xBE: 0x178,
    ]

    /// The text; bytes of a set that is not known here become replacement characters rather than wrong letters.
    static func decode(_ bytes: some Collection<UInt8>, _ name: String?) -> String {
        switch name?.lowercased() {
        case nil, "us-ascii", "ascii", "utf-8", "utf8":
            // What says ASCII and is not, is UTF-8 or Windows-1252 by the look of it.
            return String(validating: bytes, as: UTF8.self) ?? single(bytes) { windows1252($0) }
        case "iso-8859-1", "latin1", "windows-1252", "cp1252":
            return single(bytes) { windows1252($0) }
        case "iso-8859-15", "latin9":
            return single(bytes) { latin9[$0] ?? UInt32($0) }
        default:
            return String(validating: bytes, as: UTF8.self) ?? single(bytes) { $0 < 0x80 ? UInt32($0) : 0xFFFD }
        }
    }

    private static func windows1252(_ byte: UInt8) -> UInt32 {
        (0x80...0x9F).contains(byte) ? windows[Int(byte) - 0x80] : UInt32(byte)
    }

    private static func single(_ bytes: some Collection<UInt8>, _ value: (UInt8) -> UInt32) -> String {
        var out = String.UnicodeScalarView()
        for byte in bytes { out.append(Unicode.Scalar(value(byte)) ?? "\u{FFFD}") }
        return String(out)
    }
}
