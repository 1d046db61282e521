// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CLinux
package import NacreCore
package import NacreHTTP

/// A file that has arrived in the cache folder.
package struct DownloadedFile: Sendable, Equatable {
    /// Where it lies, under its own name; whoever gets it moves or removes it.
    package let path: String
    /// Its name, safe on every system.
    package let name: String
    /// Its media type.
    package let type: String
    /// Its size in bytes.
    package let size: Int
}

/// How far a download is.
package struct DownloadProgress: Sendable, Equatable {
    /// Bytes on disk.
    package let received: Int
    /// Bytes in all, where the server says so.
    package let size: Int?
    /// The name it will have.
    package let name: String
}

/// One download (NB-5): fetched natively with the session into a private file, resumed by Range and If-Range when the
/// connection breaks, never put together from two versions.
///
/// `run` may be called again after a failure and goes on where it stood; `discard` removes what is there.
package actor Download {
    package typealias Fetch = @Sendable (HTTPRequest) async throws -> HTTPResponse

    private let url: WebURL
    private let suggestedName: String?
    private let folder: String
    private let fetch: Fetch
    private let time: any TimeSource
    private let random: any RandomSource
    private let room: @Sendable (String) -> Int
    private let disk = WorkThreads(limit: 1)

    private var file: PartialFile?
    private var received = 0
    private var size: Int?
    private var validator: String?
    private var restarts = 0
    private var name: String
    private var type = "application/octet-stream"

    /// Breaks in a row without a byte of progress before it gives up.
    private static let patience = 5
    /// Beginnings from the first byte before the file counts as one that never stands still.
    private static let mostRestarts = 3
    /// Room that a download leaves on the disk, in bytes.
    static let reserve = 16 << 20
    private static let mostRedirects = 20

    /// A download of `url` into a folder of its own, `folder`, which is made.
    ///
    /// - Parameters:
    ///   - suggestedName: the `download` attribute of the link.
    ///   - room: bytes that can still be written beside a path.
    ///   - fetch: sends a request with the session where it is due, and follows no redirect.
    package init(
        _ url: WebURL, suggestedName: String? = nil, folder: String, time: any TimeSource = SystemTime(),
        random: any RandomSource = SystemRandom(),
        room: @escaping @Sendable (String) -> Int = { PartialFile.freeBytes(beside: $0) }, fetch: @escaping Fetch
    ) {
        self.url = url
        self.suggestedName = suggestedName
        self.folder = folder
        self.fetch = fetch
        self.time = time
        self.random = random
        self.room = room
        name = DownloadName.choose(fields: [:], url: url, suggested: suggestedName)
    }

    /// Fetches what is missing.
    ///
    /// - Parameters:
    ///   - first: an answer to the first request that is there already.
    /// - Throws: `download.*`, `file.disk_full`, `file.write`, `transport.*`, `CancellationError`. What has arrived stays
    ///   for another run, unless there is no room for it.
    package func run(
        continuing first: HTTPResponse? = nil, progress: @Sendable (DownloadProgress) async -> Void = { _ in }
    ) async throws -> DownloadedFile {
        var first = first
        var failure: NacreError?
        var breaks = 0
        while true {
            try Task.checkCancellation()
            let before = received
            do {
                if try await attempt(first, progress) { return try await finish() }
                failure = nil
            } catch let error as NacreError {
                guard Self.isTransient(error) else {
                    // Nothing half is left where it cannot become whole.
                    let isLost = error.code == "file.disk_full" || error.code == "download.too_long"
                    if isLost { discard() }  // guard: download-disk-full
                    throw error
                }
                failure = error
            }
            first = nil
            breaks = received > before ? 0 : breaks + 1
            guard breaks < Self.patience else {
                throw failure
                    ?? NacreError("download.incomplete", "The server keeps ending the download early; try again later.")
            }
            let wait = Backoff(first: .milliseconds(500), ceiling: .seconds(8)).delay(attempt: breaks, random: random)
            try await time.sleep(for: wait)
        }
    }

    /// Removes what has arrived; a later run begins anew.
    package func discard() {
        file?.remove()
        file = nil
        received = 0
        size = nil
        validator = nil
        rmdir(folder)
    }

    private static func isTransient(_ error: NacreError) -> Bool {
        ["transport.unreachable", "transport.timeout", "transport.protocol"].contains(error.code)
    }

    // MARK: One exchange

    /// Whether everything is there now.
    private func attempt(
        _ first: HTTPResponse?, _ progress: @Sendable (DownloadProgress) async -> Void
    ) async throws -> Bool {
        // Without a validator nothing says that the rest belongs to what is there.
        if received > 0, validator == nil { try await restart() }
        let response: HTTPResponse
        if let first { response = first } else { response = try await ask() }
        switch DownloadAnswer(response, received: received, validator: validator, size: size) {
        case .refused(let code, let message): throw NacreError(code, message)
        case .complete: return true
        case .restart:
            try await restart()
            return false
        case .whole(let length):
            if received > 0 { try await restart() }
            try begin(response, length)
        case .rest(let whole): size = whole
        }
        if let size, size - received > freeBytes() { throw PartialFile.full }
        await progress(DownloadProgress(received: received, size: size, name: name))
        let stream = response.body.stream
        while let chunk = try await stream.next() {
            try await take(chunk)
            await progress(DownloadProgress(received: received, size: size, name: name))
        }
        return size.map { received == $0 } ?? true  // guard: download-short
    }

    private func begin(_ response: HTTPResponse, _ length: Int?) throws(NacreError) {
        let coding = response.fields.tokens("Content-Encoding").filter { $0 != "identity" }
        guard coding.isEmpty else {
            throw NacreError("download.encoding", "The server sent the file compressed, though it was asked not to.")
        }
        size = length
        validator = DownloadAnswer.validator(of: response)
        name = DownloadName.choose(fields: response.fields, url: url, suggested: suggestedName)
        type = response.fields["Content-Type"]?.prefix { $0 != ";" }.trimmingSpaces() ?? type
        try PrivateFile.makeFolder(folder)
        if file == nil { file = try PartialFile(folder + "/.part") }
    }

    private func take(_ chunk: [UInt8]) async throws {
        guard let file else { return }
        if let size, received + chunk.count > size {
            throw NacreError("download.too_long", "The server sent more than it had announced; the file was not kept.")
        }
        // An answer without a length may never end: the disk is not filled to its brim.
        if size == nil, received >> 24 != (received + chunk.count) >> 24, freeBytes() < 0 {  // guard: download-endless
            throw PartialFile.full
        }
        let offset = received
        try await disk.run { try file.write(chunk, at: offset) }
        received += chunk.count
    }

    private func freeBytes() -> Int { room(folder + "/.part") - Self.reserve }

    private func restart() async throws {
        restarts += 1
        guard restarts <= Self.mostRestarts else {
            throw NacreError(
                "download.changing", "The file changes on the server while it is downloaded; try again later.")
        }
        if let file { try await disk.run { try file.cut(to: 0) } }
        received = 0
        size = nil
        validator = nil
    }

    private func finish() async throws -> DownloadedFile {
        if file == nil { try begin(HTTPResponse(), 0) }
        guard let file else { throw NacreError("download.incomplete", "Nothing was downloaded.") }
        let place = folder + "/" + name
        try await disk.run { try file.finish(as: place) }
        self.file = nil
        return DownloadedFile(path: place, name: name, type: type, size: received)
    }

    // MARK: Asking

    private func ask() async throws -> HTTPResponse {
        var fields: HTTPFields = ["Accept": "*/*", "Accept-Encoding": "identity"]
        if received > 0, let validator {
            fields["Range"] = "bytes=\(received)-"
            fields["If-Range"] = validator
        }
        return try await Self.follow(url, fields, fetch)
    }

    /// The answer at the end of the redirects.
    ///
    /// - Throws: `download.redirects` for a loop, a step down to cleartext or a place that is none.
    static func follow(_ start: WebURL, _ fields: HTTPFields, _ fetch: Fetch) async throws -> HTTPResponse {
        var url = start
        for _ in 0...mostRedirects {
            let response = try await fetch(HTTPRequest(.get, url, fields: fields))
            guard [301, 302, 303, 307, 308].contains(response.status.rawValue),
                let location = response.fields["Location"]
            else { return response }
            guard let next = url.resolving(location), next.origin.scheme == "https" || url.origin.scheme == "http"
            else { break }
            url = next
        }
        throw NacreError(
            "download.redirects", "The server sent the download round in circles, or nowhere; tell its operator.")
    }
}
