// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import Testing

@Suite("Time")
struct TimeTests {
    @Test("Instants add and subtract durations, and saturate")
    func arithmetic() {
        let start = Instant(seconds: 1000)
        #expect((start + .seconds(60)).seconds == 1060)
        #expect((start + .seconds(60)) - start == .seconds(60))
        #expect(Instant(milliseconds: .max) + .seconds(1) == Instant(milliseconds: .max))
        #expect(Instant(milliseconds: -1).seconds == -1)
    }

    @Test("Backoff stays between zero and its ceiling", arguments: 0..<40)
    func backoff(attempt: Int) {
        let delay = Backoff(first: .seconds(1), ceiling: .seconds(300)).delay(attempt: attempt, random: SystemRandom())
        #expect(delay >= .zero && delay <= .seconds(300))
    }

    @Test("A time limit cancels the slow operation and reports")
    func limit() async {
        let error = await #expect(throws: NacreError.self) {
            try await withTimeLimit(.milliseconds(20), time: SystemTime(), timeout: { NacreError("t", "late") }) {
                try await Task.sleep(for: .seconds(30))
            }
        }
        #expect(error?.code == "t")
    }
}
