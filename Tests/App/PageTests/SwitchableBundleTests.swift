// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreHTTP
import NacrePorts
import NacreTesting
import Testing

@testable import NacrePage

@Suite("A bundle in whose place another can be put")
struct SwitchableBundleTests {
    private func get(_ responder: BundleResponder, _ path: String, tag: String? = nil) async throws -> HTTPResponse {
        try await responder.respond(to: marked(.get, path, more: tag.map { [("If-None-Match", $0)] } ?? []))
    }

    @Test("UP-6: the next request has the new tree; an answer that has begun ends with its own file, removed or not")
    func switches() async throws {
        let old = try TemporaryFolder()
        let new = try TemporaryFolder()
        try old.write("a.txt", String(repeating: "o", count: 200_000))
        try new.write("a.txt", "new")
        let bundle = SwitchableBundle(try FolderBundle(old.path, stamp: "one"))
        let responder = BundleResponder(bundle, api: nil)
        let begun = try await get(responder, "/a.txt")
        bundle.show(try FolderBundle(new.path, stamp: "two"), identity: "two")
        try FileManager.default.removeItem(atPath: old.path + "/a.txt")
        #expect(bundle.stamp == "two")
        #expect(try await get(responder, "/a.txt").text() == "new")
        #expect(try await begun.body.collect(upTo: 1 << 20).count == 200_000)
    }

    @Test("Validators of two trees differ, even where a file is one and the same")
    func tags() async throws {
        let bundle = SwitchableBundle(MemoryBundle())
        let responder = BundleResponder(bundle, api: nil)
        let built = try #require(try await get(responder, "/logo.png").fields["ETag"])
        bundle.show(MemoryBundle(), identity: "one")
        let one = try #require(try await get(responder, "/logo.png").fields["ETag"])
        bundle.show(MemoryBundle(), identity: "two")
        let two = try #require(try await get(responder, "/logo.png").fields["ETag"])
        #expect(Set([built, one, two]).count == 3)
        #expect(try await get(responder, "/logo.png", tag: one).status == .ok)
        #expect(try await get(responder, "/logo.png", tag: two).status == .notModified)
        bundle.show(MemoryBundle(), identity: "one")
        #expect(try await get(responder, "/logo.png", tag: one).status == .notModified)
    }

    @Test("NB-10: the policy of a document is its own tree's, not that of the tree before")
    func policies() async throws {
        var other = MemoryBundle()
        // As long as the other document, and so with the same validator of its own.
        let length = try #require(other.files["/index.html"]).utf8.count
        let (head, tail) = ("<!doctype html><title>App</title><script>late()", "</script>")
        let padding = String(repeating: " ", count: length - head.utf8.count - tail.utf8.count)
        other.files["/index.html"] = head + padding + tail
        let bundle = SwitchableBundle(MemoryBundle())
        let responder = BundleResponder(bundle, api: nil)
        let before = try await get(responder, "/index.html").fields["Content-Security-Policy"]
        bundle.show(other, identity: "other")
        let after = try await get(responder, "/index.html").fields["Content-Security-Policy"]
        #expect(before?.contains("sha256") == false && after?.contains("sha256") == true)
    }
}
