// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreHTTP

/// The downloads of the app, each in a folder of its own below the cache folder until it is saved or handed on.
package final class Downloads: Sendable {
    private let folder: String
    private let page: Origin
    private let isNative: @Sendable (Origin) -> Bool
    private let fetch: Download.Fetch
    private let time: any TimeSource
    private let random: any RandomSource
    private let log: Log

    /// - Parameters:
    ///   - folder: for files under way; whoever makes this empties it at the start.
    ///   - isNative: whether an origin is one whose files are fetched with the session.
    ///   - fetch: sends a request as the page's own would go, see `PageChannel.fetch`.
    package init(
        folder: String, page: Origin, isNative: @escaping @Sendable (Origin) -> Bool,
        time: any TimeSource = SystemTime(), random: any RandomSource = SystemRandom(), log: Log,
        fetch: @escaping Download.Fetch
    ) {
        self.folder = folder
        self.page = page
        self.isNative = isNative
        self.time = time
        self.random = random
        self.log = log
        self.fetch = fetch
    }

    /// A folder for a download that somebody else writes, the web view's of a `blob:` say.
    ///
    /// - Throws: `file.folder`.
    package func makeFolder() throws(NacreError) -> String {
        let path = folder + "/" + random.identifier()
        try PrivateFile.makeFolder(path)
        return path
    }

    /// A download of an address that the page has named; nil when the app does not fetch it itself: `blob:`, `data:`.
    package func download(_ text: String, suggestedName: String? = nil) -> Download? {
        guard let url = try? WebURL(MediaProxyURL.unwrap(text, page: page)) else { return nil }
        return make(url, suggestedName)
    }

    /// Asks what stands at an address that a person wants to go to: the download and its first answer where it is a file
    /// to be saved, nil where it is a page, or not the API's, or nothing (NB-5 before NB-10).
    package func attachment(at text: String) async -> (download: Download, first: HTTPResponse)? {
        guard let url = try? WebURL(MediaProxyURL.unwrap(text, page: page)), isNative(url.origin) else { return nil }
        let fields: HTTPFields = ["Accept": "*/*", "Accept-Encoding": "identity"]
        guard let response = try? await Download.follow(url, fields, fetch), Self.isAttachment(response) else {
            return nil
        }
        return (make(url, nil), response)
    }

    /// Whether a browser would save this answer instead of showing it.
    static func isAttachment(_ response: HTTPResponse) -> Bool {
        guard response.status.isSuccess, response.status != .noContent else { return false }
        if let disposition = ContentDisposition(response.fields["Content-Disposition"]) {
            return disposition.isAttachment
        }
        let type = response.fields["Content-Type"]?.prefix { $0 != ";" }.trimmingSpaces().lowercased() ?? "text/plain"
        if ["text/", "image/", "audio/", "video/"].contains(where: type.hasPrefix) { return false }
        return !["application/json", "application/pdf", "application/xml", "application/xhtml+xml"].contains(type)
    }

    private func make(_ url: WebURL, _ suggestedName: String?) -> Download {
        log.info("page.download", ["host": .string(url.origin.authority), "path": .string(url.path)])
        return Download(
            url, suggestedName: suggestedName, folder: folder + "/" + random.identifier(), time: time, random: random,
            fetch: fetch)
    }
}
