// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore

/// Reads the sample mails: every `.json` file of a folder, in the order of their names.
enum SampleMail {
    /// The conversations of `folder`.
    ///
    /// - Throws: `messages.seed` when the folder or a file in it cannot be read, or is not as the format says.
    static func load(folder: String) throws(NacreError) -> [SampleThread] {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".json") }
                .sorted()
        } catch {
            throw NacreError("messages.seed", "The folder of sample mails \(folder) cannot be read.", cause: error)
        }
        guard !names.isEmpty else {
            throw NacreError("messages.seed", "The folder of sample mails \(folder) has no .json file.")
        }
        var threads: [SampleThread] = []
        for name in names {
            let bytes: [UInt8]
            do {
                bytes = Array(try Data(contentsOf: URL(fileURLWithPath: folder + "/" + name)))
            } catch {
                throw NacreError("messages.seed", "The sample mails \(folder)/\(name) cannot be read.", cause: error)
            }
            threads += try parse(JSONParser.parse(bytes), file: name, folder: folder)
        }
        return threads
    }

    private static func read(_ path: String) -> [UInt8]? {
        (try? Data(contentsOf: URL(fileURLWithPath: path))).map { Array($0) }
    }

    /// The conversations of one file.
    static func parse(_ value: JSONValue, file: String, folder: String) throws(NacreError) -> [SampleThread] {
        var reader = try ConfigurationReader(value, file: file)
        let items = reader.value("threads")?.array ?? []
        try reader.finish()
        var threads: [SampleThread] = []
        for (index, item) in items.enumerated() {
            var reader = try ConfigurationReader(item, file: file, path: "threads[\(index)]")
            let word = try reader.string("mailbox") ?? "inbox"
            guard let mailbox = Mailbox(rawValue: word) else {
                throw reader.fault("mailbox", "must be inbox, archive or trash.")
            }
            let thread = SampleThread(
                subject: try reader.string("subject") ?? "", mailbox: mailbox,
                starred: try reader.bool("starred") ?? false, unread: try reader.bool("unread") ?? false,
                messages: try messages(&reader, file: file, folder: folder))
            try reader.finish()
            guard !thread.messages.isEmpty else { throw reader.fault("messages", "must not be empty.") }
            threads.append(thread)
        }
        return threads
    }

    private static func messages(
        _ parent: inout ConfigurationReader, file: String, folder: String
    ) throws(NacreError) -> [SampleMessage] {
        var messages: [SampleMessage] = []
        for (index, item) in (parent.value("messages")?.array ?? []).enumerated() {
            var reader = try ConfigurationReader(item, file: file, path: "\(parent.path).messages[\(index)]")
            messages.append(
                SampleMessage(
                    from: try reader.requiredString("from", example: "Ann <ann@example.org>"),
                    to: try reader.strings("to") ?? [], cc: try reader.strings("cc") ?? [],
                    minutesAgo: try reader.integer("ago", in: 0...5_256_000) ?? 0,
                    text: try reader.strings("text")?.joined(separator: "\n"),
                    html: try reader.strings("html")?.joined(separator: "\n"),
                    attachments: try attachments(&reader, file: file, folder: folder)))
            try reader.finish()
        }
        return messages
    }

    private static func attachments(
        _ parent: inout ConfigurationReader, file: String, folder: String
    ) throws(NacreError) -> [SampleAttachment] {
        var attachments: [SampleAttachment] = []
        for (index, item) in (parent.value("attachments")?.array ?? []).enumerated() {
            var reader = try ConfigurationReader(item, file: file, path: "\(parent.path).attachments[\(index)]")
            let text = try reader.strings("text")?.joined(separator: "\n")
            let encoded = try reader.string("base64")
            let file = try reader.string("file")
            guard
                let bytes = text.map({ Array($0.utf8) }) ?? encoded.flatMap({ Base64.decode($0) })
                    ?? file.flatMap({ Self.read("\(folder)/files/\($0)") })
            else {
                throw reader.fault(
                    "base64", "must be base64 with padding; or write \"text\", or \"file\", a name in files/.")
            }
            attachments.append(
                SampleAttachment(
                    name: try reader.string("name") ?? "",
                    type: try reader.requiredString("type", example: "text/plain"),
                    cid: try reader.string("cid"), bytes: bytes))
            try reader.finish()
        }
        return attachments
    }
}
