// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreUpdates
import Testing

@Suite("What a page is told of updates")
struct UpdateStatusTests {
    @Test("Every member is there, also what is nothing")
    func json() {
        let status = UpdateStatus(phase: .staged, running: "1.0", isBuiltIn: true, staged: "1.1")
        #expect(
            status.json == [
                "phase": "staged", "running": "1.0", "builtIn": true, "staged": "1.1", "received": 0, "size": 0,
                "failed": nil, "held": false,
            ])
    }
}
