// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreHTTP
import NacreRouting
import Testing

@testable import NacrePage

@Suite("The app's own files at the page's host")
final class AppFilesTests: Sendable {
    private let folder: String

    init() throws {
        folder = NSTemporaryDirectory() + "nacre-files-" + UUID().uuidString
        let files = FileManager.default
        for name in ["data", "secret"] {
            try files.createDirectory(atPath: folder + "/" + name, withIntermediateDirectories: true)
        }
        try Data("0123456789".utf8).write(to: URL(fileURLWithPath: folder + "/data/a b.png"))
        try Data("secret".utf8).write(to: URL(fileURLWithPath: folder + "/secret/key"))
        try files.createSymbolicLink(atPath: folder + "/data/link", withDestinationPath: folder + "/secret/key")
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private func answer(
        _ path: String, site: String = "same-origin", mode: String = "no-cors", destination: String = "image",
        range: String? = nil
    ) async throws -> HTTPResponse {
        let bundle = BundleResponder(MemoryBundle(), api: nil)
        let host = PageHostResponder(
            policy: PageAccessPolicy(
                page: try Origin("https://localhost"), sameSite: false, media: [], serviceWorkers: false),
            files: { try await bundle.respond(to: $0) }, bridge: nil,
            appFiles: AppFilesResponder(folders: [folder + "/data"]), log: .none)
        let request = marked(
            .get, path, site: site, mode: mode, destination: destination, more: range.map { [("Range", $0)] } ?? [])
        return try await host.respond(to: request, context: RequestContext(id: "1", clientAddress: "127.0.0.1"))
    }

    private var picture: String { "/_capacitor_file_" + folder + "/data/a%20b.png" }

    @Test("NB-9: convertFileSrc shows a file of the app, with ranges, and lets it run nothing")
    func shows() async throws {
        let whole = try await answer(picture)
        #expect(whole.status == .ok)
        #expect(whole.fields["Content-Type"] == "image/png")
        #expect(whole.fields["X-Content-Type-Options"] == "nosniff")
        #expect(whole.fields["Content-Security-Policy"] == "sandbox; default-src 'none'")
        #expect(try await whole.text() == "0123456789")
        let part = try await answer(picture, destination: "video", range: "bytes=2-4")
        #expect(part.status.rawValue == 206)
        #expect(try await part.text() == "234")
    }

    @Test(
        "NB-9: no other file of the machine is there, whatever the path says",
        arguments: ["/secret/key", "/data/../secret/key", "/data/%2e%2e/secret/key", "/data/link", "/database", ""])
    func confined(_ path: String) async throws {
        let status = try await answer("/_capacitor_file_" + folder + path).status.rawValue
        #expect(status == 404 || status == 400)
        #expect(try await answer("/_capacitor_file_/etc/passwd").status == .notFound)
        #expect(try await answer("/_capacitor_content_/media/1").status == .notFound)
    }

    @Test(
        "NB-10: a file is never a document, a frame or a script of the app's origin",
        arguments: ["document", "iframe", "object", "embed", "script", "worker", "serviceworker"])
    func runsNothing(_ destination: String) async throws {
        #expect(try await answer(picture, mode: "navigate", destination: destination).status == .forbidden)
    }

    @Test(
        "NB-10: a sandboxed or foreign frame sees no file of the app", arguments: ["cross-site", "same-site", "none"])
    func foreign(_ site: String) async throws {
        #expect(try await answer(picture, site: site).status == .forbidden)
        #expect(try await answer("//_capacitor_file_" + folder + "/data/a%20b.png", site: site).status == .forbidden)
    }
}
