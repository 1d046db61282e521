// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore

/// How a part's bytes are written down (RFC 2045 section 6), read with the tolerance that real mail needs.
enum TransferEncoding {
    static func decode(_ bytes: ArraySlice<UInt8>, _ name: String?) -> [UInt8] {
        switch name?.lowercased().filter({ !$0.isWhitespace }) {
        case "base64": base64(bytes)
        case "quoted-printable": quotedPrintable(bytes)
        default: Array(bytes)
        }
    }

    /// Base64; what is no letter of it does not count.
    static func base64(_ bytes: some Collection<UInt8>) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(bytes.count / 4 * 3)
        var buffer: UInt32 = 0
        var bits = 0
        for byte in bytes {
            let value: UInt32
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = UInt32(byte - UInt8(ascii: "A"))
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = UInt32(byte - UInt8(ascii: "a")) + 26
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = UInt32(byte - UInt8(ascii: "0")) + 52
            case UInt8(ascii: "+"), UInt8(ascii: "-"): value = 62
            case UInt8(ascii: "/"), UInt8(ascii: "_"): value = 63
            default: continue
            }
            buffer = (buffer << 6 | value) & 0xFFFFFF
            bits += 6
            if bits >= 8 {
                bits -= 8
                out.append(UInt8(truncatingIfNeeded: buffer >> UInt32(bits)))
            }
        }
        return out
    }

    /// Quoted-printable; `underscore`: the form of header fields, where `_` is a space.
    static func quotedPrintable(_ bytes: some Collection<UInt8>, underscore: Bool = false) -> [UInt8] {
        let bytes = Array(bytes)
        var out: [UInt8] = []
        out.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: "_"), underscore {
                out.append(32)
            } else if byte != UInt8(ascii: "=") {
                out.append(byte)
            } else if index + 2 < bytes.count, let high = Hex.digit(bytes[index + 1]),
                let low = Hex.digit(bytes[index + 2])
            {
                out.append(high << 4 | low)
                index += 2
            } else {
                // A soft line break: "=", perhaps spaces, the end of the line.
                var end = index + 1
                while end < bytes.count, bytes[end] == 32 || bytes[end] == 9 || bytes[end] == 13 { end += 1 }
                if end >= bytes.count || bytes[end] == 10 { index = end } else { out.append(byte) }
            }
            index += 1
        }
        return out
    }
}
