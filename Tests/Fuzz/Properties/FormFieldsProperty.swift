// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreHTTP

/// A form that is taken keeps every pair in its order, byte for byte, through writing and reading again.
enum FormFieldsProperty {
    @Sendable static func check(_ bytes: [UInt8]) throws(Violation) -> Bool {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let form = FormFields(decoding: text) else { return false }
        // Counted in bytes: an accent may join the sign before it into one character.
        let parts = Array(text.utf8).split(separator: UInt8(ascii: "&"))
        try demand(form.pairs.count == parts.count, "\(form.pairs.count) pairs of \(parts.count)")
        let encoded = form.encoded
        let allowed = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~%&=".utf8)
        try demand(encoded.utf8.allSatisfy(allowed.contains), "written with a sign that is not plain: \(encoded)")
        guard let again = FormFields(decoding: encoded) else { throw Violation("not read again: \(encoded)") }
        try demand(again.pairs.count == form.pairs.count, "another number of pairs")
        for (a, b) in zip(form.pairs, again.pairs) {
            try demand(a.name.utf8.elementsEqual(b.name.utf8), "another name")
            try demand(a.value.utf8.elementsEqual(b.value.utf8), "another value")
        }
        return true
    }
}
