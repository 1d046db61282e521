// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreApp
import Testing

@Suite struct PluginNamesTests {
    @Test("NB-9: the list of plugins names every plugin that the sources hold")
    func names() throws {
        var found: Set<String> = []
        for folder in ["Plugins", "App/Updates"] {
            let root = URL(filePath: #filePath).deletingLastPathComponent()
                .appending(path: "../../../Sources/App/\(folder)")
            let files = try #require(FileManager.default.enumerator(atPath: root.path))
            for case let file as String in files where file.hasSuffix(".swift") {
                let text = try String(contentsOf: root.appending(path: file), encoding: .utf8)
                for match in text.matches(of: #/(?:package let name|static let pluginName) = "([A-Za-z]+)"/#) {
                    found.insert(String(match.1))
                }
            }
        }
        #expect(found == NacreApplication.pluginNames.union(["Nacre", "NacreUpdates"]))
    }
}
