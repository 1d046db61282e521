// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacrePorts
import Testing

@testable import NacreApp

@Suite("The app's files")
struct AppBundleTests {
    private func configuration(devServer: String?) throws -> AppConfiguration {
        try AppConfiguration(
            parsing: """
                {"app": {"id": "org.example.messages", "name": "Messages", "version": "1.0.0"},
                 "api": {"origin": "https://mail.example.org"}, "bundle": {"path": "dist"}}
                """,
            environment: devServer.map { ["MOBILE_DEV_SERVER_URL": $0] } ?? [:], isDevelopment: true)
    }

    @Test("SH-2: with a development server the bundle need not be built")
    func devServer() async throws {
        let configuration = try configuration(devServer: "http://localhost:5173")
        let bundle = try NacreApplication.bundle(of: configuration, in: "/nonexistent")
        #expect(bundle.stamp == configuration.stamp)
        #expect(try await bundle.file(at: "/index.html") == nil)
    }

    @Test("SH-2: without one a missing bundle stops the start with a sentence")
    func missing() throws {
        let configuration = try configuration(devServer: nil)
        let error = #expect(throws: NacreError.self) {
            try NacreApplication.bundle(of: configuration, in: "/nonexistent")
        }
        #expect(error?.code == "bundle.missing")
        #expect(error?.message.contains("/nonexistent/dist") == true)
    }

    @Test("SH-2: the bundle is the folder that bundle.path names")
    func folder() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/nacre-bundle-" + SystemRandom().identifier()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder + "/dist", withIntermediateDirectories: true)
        try Data("hello".utf8).write(to: URL(fileURLWithPath: folder + "/dist/index.html"))
        let bundle = try NacreApplication.bundle(of: try configuration(devServer: nil), in: folder)
        #expect(try await bundle.file(at: "/index.html")?.size == 5)
    }
}
