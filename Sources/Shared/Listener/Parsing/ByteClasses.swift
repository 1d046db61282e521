// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// The byte classes of the HTTP grammar (RFC 9110 section 5.6.2, 5.5; RFC 9112 section 3.2).
enum ByteClass {
    static let lineFeed: UInt8 = 10
    static let carriageReturn: UInt8 = 13
    static let space: UInt8 = 32
    static let tab: UInt8 = 9
    static let colon: UInt8 = 58

    /// `tchar`: what names and methods are made of. Two words with a bit for each sign: every byte of every name comes by
    /// here.
    static func isToken(_ byte: UInt8) -> Bool {
        let members: UInt64 = byte < 64 ? 0x3FF6CFA00000000 : 0x57FFFFFFC7FFFFFE
        return byte < 128 && members >> UInt64(byte & 63) & 1 == 1
    }

    /// What a field value may hold: tab, space, visible ASCII, and bytes above it.
    static func isFieldValue(_ byte: UInt8) -> Bool { byte == tab || (byte >= space && byte != 127) }

    /// What a request target may hold. Wider than RFC 3986, since browsers send `|` or `^` bare; never a fragment.
    static func isTarget(_ byte: UInt8) -> Bool { byte > space && byte < 127 && byte != UInt8(ascii: "#") }

    static func isDigit(_ byte: UInt8) -> Bool { byte >= 48 && byte <= 57 }

    static func isUpper(_ byte: UInt8) -> Bool { byte >= 65 && byte <= 90 }

    static func isLower(_ byte: UInt8) -> Bool { byte >= 97 && byte <= 122 }

    /// What a Host value is made of: a name or address, IPv6 in brackets, a port.
    static func isAuthority(_ byte: UInt8) -> Bool {
        isDigit(byte) || isUpper(byte) || isLower(byte) || "-._~%:[]".utf8.contains(byte)
    }

    static func hexValue(_ byte: UInt8) -> Int? {
        switch byte {
        case 48...57: Int(byte) - 48
        case 65...70: Int(byte) - 55
        case 97...102: Int(byte) - 87
        default: nil
        }
    }
}
