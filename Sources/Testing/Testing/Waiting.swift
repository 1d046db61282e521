// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore

/// Waits for what another task does, giving way to it; the limit is far beyond what a loaded machine needs, and a test
/// that waits for something that never comes fails instead of hanging.
///
/// - Throws: `test.never` when it has not happened after three minutes.
package func until(_ condition: () async -> Bool) async throws {
    let clock = ContinuousClock()
    let end = clock.now + .seconds(180)
    while await !condition() {
        guard clock.now < end else { throw NacreError("test.never", "What was waited for never happened.") }
        await Task.yield()
    }
}
