// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreTesting
import Testing

@testable import NacreServer

@Suite struct OwnerTests {
    private func owner(_ path: String) throws -> UInt32? {
        (try FileManager.default.attributesOfItem(atPath: path)[.ownerAccountID] as? NSNumber)?.uint32Value
    }

    @Test(
        "What root's commands wrote goes to the folder's owner, but nothing behind a link does",
        .enabled(if: geteuid() == 0, "only root gives files away"))
    func links() throws {
        let place = try Installation()
        let manager = FileManager.default
        try manager.createDirectory(atPath: place.data, withIntermediateDirectories: true)
        let outside = place.root + "/outside"
        for path in [outside, place.root + "/other", place.data + "/plain"] {
            #expect(manager.createFile(atPath: path, contents: Data("x".utf8)))
        }
        try manager.createSymbolicLink(atPath: place.data + "/soft", withDestinationPath: outside)
        // The folder's owner may put a second name of anybody's file there.
        try manager.linkItem(atPath: place.root + "/other", toPath: place.data + "/hard")
        try manager.setAttributes([.ownerAccountID: 12_345, .groupOwnerAccountID: 12_345], ofItemAtPath: place.data)
        try place.administration().giveToOwner()
        #expect(try owner(place.data + "/plain") == 12_345)
        #expect(try owner(outside) == 0)
        #expect(try owner(place.root + "/other") == 0)
        #expect(try owner(place.data + "/soft") == 0)
    }
}
