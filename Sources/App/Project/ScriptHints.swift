// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// What the text of a built script gives away. Hints, not proof: the text is searched, not run.
struct ScriptHints {
    /// Names given to Capacitor's `registerPlugin`. Minified, its name is gone; what stays is `x("Name",{web:…})`.
    private(set) var plugins: Set<String> = []
    /// The first file that registers a service worker.
    private(set) var serviceWorker: String?
    /// The first file that makes code from text.
    private(set) var evaluation: String?

    private static let registration = Array("serviceWorker.register(".utf8)
    private static let evaluations = [Array("new Function(".utf8), Array("eval(".utf8)]
    private static let register = Array("registerPlugin".utf8)

    mutating func look(through bytes: [UInt8], _ file: String) {
        bytes.withUnsafeBufferPointer { look(through: $0, file) }
    }

    private mutating func look(through bytes: UnsafeBufferPointer<UInt8>, _ file: String) {
        for at in 0..<bytes.count where bytes[at] == UInt8(ascii: "(") {
            if let name = Self.pluginName(bytes, at) { plugins.insert(name) }
            if serviceWorker == nil, Self.ends(bytes, at + 1, with: Self.registration) { serviceWorker = file }
            if evaluation == nil,
                Self.evaluations.contains(where: { word in
                    Self.ends(bytes, at + 1, with: word) && !Self.isNamePart(bytes, at - word.count)
                })
            {
                evaluation = file
            }
        }
    }

    /// The name in `registerPlugin("Name"…`, `(0,x.registerPlugin)("Name"…` or `x("Name",{web:…`.
    private static func pluginName(_ bytes: UnsafeBufferPointer<UInt8>, _ open: Int) -> String? {
        var at = skipSpaces(bytes, open + 1)
        guard at < bytes.count, [UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`")].contains(bytes[at]) else {
            return nil
        }
        let quote = bytes[at]
        let start = at + 1
        at = start
        while isNamePart(bytes, at), at - start <= 60 { at += 1 }
        guard at < bytes.count, at > start + 1, bytes[at] == quote, (65...90).contains(bytes[start]) else { return nil }
        let name = String(decoding: bytes[start..<at], as: UTF8.self)
        if ends(bytes, open, with: register) { return name }
        if open > 0, bytes[open - 1] == UInt8(ascii: ")"), ends(bytes, open - 1, with: register) { return name }
        at = skipSpaces(bytes, at + 1)
        guard at < bytes.count, bytes[at] == UInt8(ascii: ",") else { return nil }
        at = skipSpaces(bytes, at + 1)
        guard at < bytes.count, bytes[at] == UInt8(ascii: "{") else { return nil }
        at = skipSpaces(bytes, at + 1)
        guard at + 4 <= bytes.count, bytes[at..<at + 4].elementsEqual("web:".utf8) else { return nil }
        return name
    }

    private static func skipSpaces(_ bytes: UnsafeBufferPointer<UInt8>, _ start: Int) -> Int {
        var at = start
        while at < bytes.count, bytes[at] == 0x20 || (0x09...0x0D).contains(bytes[at]) { at += 1 }
        return at
    }

    /// Whether the text before `end` is `word`.
    private static func ends(_ bytes: UnsafeBufferPointer<UInt8>, _ end: Int, with word: [UInt8]) -> Bool {
        guard end >= word.count, end <= bytes.count else { return false }
        var at = end - word.count
        for byte in word {
            guard bytes[at] == byte else { return false }
            at += 1
        }
        return true
    }

    private static func isNamePart(_ bytes: UnsafeBufferPointer<UInt8>, _ at: Int) -> Bool {
        guard at >= 0, at < bytes.count else { return false }
        let byte = bytes[at]
        return (48...57).contains(byte) || (97...122).contains(byte | 0x20) || byte == UInt8(ascii: "_")
            || byte == UInt8(ascii: "$")
    }
}
