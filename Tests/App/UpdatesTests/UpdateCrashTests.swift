// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreUpdatesTesting
import Testing

@Suite("UP-7: whatever stops where, the next start shows a whole bundle")
struct UpdateCrashTests {
    @Test("At some steps of a story; the journey stops it at each", arguments: CrashDisk.End.allCases)
    func stops(end: CrashDisk.End) async throws {
        let story = CrashStory(seed: 11)
        let press = CrashStory.Press()
        let whole = try await story.play(stop: nil, end: .killed, press: press)
        #expect(whole.problems.isEmpty)
        for step in stride(from: 3, through: whole.steps, by: 83) {
            let outcome = try await story.play(stop: step, end: end, press: press)
            #expect(outcome.problems.isEmpty, "step \(step)")
        }
    }
}
