// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreFuzzProperties
import Testing

/// Every input that the fuzzer once needed, or broke something with, goes through the same rules in every test run.
@Suite("The fuzzing corpus")
struct CorpusTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "corpus")

    @Test(
        "Every property holds for its whole corpus, which has inputs that are taken and inputs that are refused",
        arguments: Property.all.map(\.name))
    func replay(name: String) throws {
        let property = try #require(Property.all.first { $0.name == name })
        let files = try FileManager.default.contentsOfDirectory(
            at: Self.folder.appending(path: name), includingPropertiesForKeys: nil)
        var taken = 0
        for file in files {
            let bytes = [UInt8](try Data(contentsOf: file))
            do { if try property.check(bytes) { taken += 1 } } catch {
                Issue.record("\(name)/\(file.lastPathComponent): \(error)")
            }
        }
        #expect(taken > 0)
        #expect(taken < files.count || name == "signing")
        #expect(files.count <= 80, "keep it small: fuzz merges")
    }

    @Test("Every corpus folder has its property")
    func names() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
        #expect(folders.sorted() == Property.all.map(\.name).sorted())
    }

    @Test(
        "The second reading of a head sees what a parser must not take",
        arguments: [
            ("GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n", "NUL"),
            ("GET / HTTP/1.1\nHost: a\r\n\r\n", "a bare line feed"),
            ("GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n", "a bare carriage return"),
            ("GET / HTTP/1.1\r\nHost: a\r\n", "no end"),
            ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", "a name with a space"),
            ("GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", "a line without a name"),
            ("GET / HTTP/1.1\r\nHost: a\r\n b: c\r\n\r\n", "a name with a space"),
            ("GET / HTTP/1.1\r\n\r\n", "no Host"), ("GET / HTTP/1.1\r\nHost: a\r\nhOST: a\r\n\r\n", "two Hosts"),
            ("GET / HTTP/1.1\r\nHost: a,b\r\n\r\n", "a Host that is none"),
            ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\ncontent-length: 1\r\n\r\n", "two lengths"),
            ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n", "a length that is no number"),
            (
                "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
                "a length and a coding"
            ),
            ("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chun\u{212A}ed\r\n\r\n", "a coding but chunked"),
            ("GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n", "a URL of another host"),
            ("GET http:///x HTTP/1.0\r\n\r\n", "a URL without a host"),
            ("GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", "a target with a forbidden character"),
            ("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n", nil),
            ("GET / HTTP/1.0\r\n\r\n", nil), ("\r\nGET http://A/?b HTTP/1.1\r\nHost: a\r\n\r\n", nil),
        ] as [(String, String?)])
    func oracle(text: String, fault: String?) {
        #expect(HeadOracle.fault(in: Array(text.utf8), .request) == fault)
    }
}
