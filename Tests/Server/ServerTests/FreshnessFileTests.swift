// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import Testing

@testable import NacreServer

@Suite("The file with the signed word on the newest release (UP-1)")
struct FreshnessFileTests {
    private let path = FileManager.default.temporaryDirectory.path + "/nacre-freshness-" + SystemRandom().identifier()

    @Test("It is read anew, and what is no such word changes nothing")
    func reads() async throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let file = FreshnessFile(path, log: .none)
        await file.read()
        #expect(file.value == nil)
        for number in 1...2 {
            try Data("{\"payload\":\"\(number)\",\"signatures\":[]}".utf8).write(to: URL(filePath: path))
            await file.read()
            #expect(file.value?["payload"]?.string == "\(number)")
        }
        for text in ["", "{", "[]", "{\"payload\":\"3\"}", "{\"signatures\":[]}"] {
            try Data(text.utf8).write(to: URL(filePath: path))
            await file.read()
            #expect(file.value?["payload"] == "2")
        }
    }
}
