// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreTesting
import Testing

@testable import NacreServer

@Suite("The file with the signed word on the newest release (UP-1)")
struct FreshnessFileTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("It is read anew, and what is no such word changes nothing")
    func reads() async throws {
        let file = FreshnessFile(folder.file("word"), log: .none)
        await file.read()
        #expect(file.value == nil)
        for number in 1...2 {
            try folder.write("word", "{\"payload\":\"\(number)\",\"signatures\":[]}")
            await file.read()
            #expect(file.value?["payload"]?.string == "\(number)")
        }
        for text in ["", "{", "[]", "{\"payload\":\"3\"}", "{\"signatures\":[]}"] {
            try folder.write("word", text)
            await file.read()
            #expect(file.value?["payload"] == "2")
        }
    }
}
