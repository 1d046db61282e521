// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// The header of a message or part (RFC 5322 section 2.2), unfolded, names in lower case.
struct MailHeader {
    static let maximumFields = 1000

    private(set) var fields: [(name: String, value: String)] = []

    /// The first field of this name.
    subscript(name: String) -> String? { fields.first { $0.name == name }?.value }

    /// Splits the bytes of a message into its header and what follows the empty line.
    static func split(_ bytes: ArraySlice<UInt8>) -> (header: MailHeader, body: ArraySlice<UInt8>) {
        var header = MailHeader()
        var lines = MailLines(bytes)
        var field: [UInt8] = []
        func keep(_ header: inout MailHeader) {
            guard !field.isEmpty, header.fields.count < maximumFields else { return }  // guard: header-fields
            let text = Charset.decode(field, "utf-8")
            if let colon = text.firstIndex(of: ":") {
                let name = text[..<colon].lowercased().filter { !$0.isWhitespace }
                header.fields.append((name, String(text[text.index(after: colon)...]).trimmingSpace()))
            }
            field = []
        }
        while let line = lines.next() {
            let content = line.content
            if content.isEmpty {
                keep(&header)
                return (header, bytes[line.end...])
            }
            if content.first == 32 || content.first == 9 {
                field += content
            } else {
                keep(&header)
                field = Array(content)
            }
        }
        keep(&header)
        return (header, bytes[bytes.endIndex...])
    }
}

/// The lines of a message, with either kind of line end.
struct MailLines {
    private let bytes: ArraySlice<UInt8>
    private var position: Int

    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        position = bytes.startIndex
    }

    /// A line without its end, where it starts, and where the next one does.
    struct Line {
        let content: ArraySlice<UInt8>
        let start: Int
        let end: Int
    }

    mutating func next() -> Line? {
        guard position < bytes.endIndex else { return nil }
        let start = position
        let feed = bytes[start...].firstIndex(of: 10)
        position = feed.map { $0 + 1 } ?? bytes.endIndex
        var end = feed ?? bytes.endIndex
        if end > start, bytes[end - 1] == 13 { end -= 1 }
        return Line(content: bytes[start..<end], start: start, end: position)
    }
}

extension String {
    /// Without white space of any kind at both ends.
    func trimmingSpace() -> String {
        var text = self[...]
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}
