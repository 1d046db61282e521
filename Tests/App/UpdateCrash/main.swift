// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreTesting
import NacreUpdatesTesting

// Stops the updater's machine at every step that it makes on the disk, in every way a machine stops, and starts it again.
//
// usage: update-crash [--seeds A-B] [--every N] [--only SEED:STEP:END] [--processes N]
//        --processes: instead, end so many real processes by SIGKILL

var seeds: ClosedRange<UInt64> = 1...6
var every = 1
var only: (seed: UInt64, step: Int, end: CrashDisk.End)?
var processes: Int?
var arguments = CommandLine.arguments.dropFirst()
while let argument = arguments.popFirst() {
    let value = arguments.popFirst() ?? ""
    let parts = value.split(whereSeparator: { $0 == "-" || $0 == ":" }).map(String.init)
    switch argument {
    case "--seeds":
        guard parts.count == 2, let a = UInt64(parts[0]), let b = UInt64(parts[1]), a <= b else { exit(64) }
        seeds = a...b
    case "--every":
        guard let n = Int(value), n > 0 else { exit(64) }
        every = n
    case "--only":
        guard parts.count == 3, let a = UInt64(parts[0]), let b = Int(parts[1]),
            let c = CrashDisk.End(rawValue: parts[2])
        else { exit(64) }
        only = (a, b, c)
    case "--processes":
        guard let n = Int(value), n > 0 else { exit(64) }
        processes = n
    case "--die":
        guard parts.count == 2, let a = UInt64(parts[0]), let b = Int(parts[1]) else { exit(64) }
        try await CrashStory(seed: a).die(at: b, in: FileManager.default.currentDirectoryPath) {
            kill(getpid(), SIGKILL)
        }
        exit(0)
    default:
        print("usage: update-crash [--seeds A-B] [--every N] [--only SEED:STEP:END]")
        exit(64)
    }
}

if let only {
    let outcome = try await CrashStory(seed: only.seed).play(stop: only.step, end: only.end)
    print(outcome.problems.isEmpty ? "ok" : outcome.problems.joined(separator: "\n"))
    exit(outcome.problems.isEmpty ? 0 : 1)
}

if let processes {
    var failures = 0
    let keys = try TemporaryFolder()
    try TestPublisher.writeKeys(to: keys.path + "/keys")
    for index in 0..<processes {
        let seed = seeds.lowerBound + UInt64(index) % UInt64(seeds.count)
        let steps = try await CrashStory(seed: seed).play(stop: nil, end: .killed).steps
        let step = 1 + index * 37 % steps
        let folder = try TemporaryFolder()
        let child = Process()
        child.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        child.arguments = ["--die", "\(seed):\(step)"]
        child.currentDirectoryURL = URL(filePath: folder.path)
        child.environment = ProcessInfo.processInfo.environment.merging(
            ["NACRE_TEST_KEYS": keys.path + "/keys"]) { _, new in new }
        try child.run()
        child.waitUntilExit()
        let wasKilled = child.terminationReason == .uncaughtSignal
        let outcome = try await CrashStory(seed: seed).play(stop: step, end: .killed, continuing: folder.path)
        if outcome.problems.isEmpty, wasKilled { continue }
        failures += 1
        print(
            "FAIL process \(seed):\(step): \(wasKilled ? outcome.problems.joined(separator: "; ") : "it was not killed")"
        )
    }
    print("\(processes) processes")
    print("\(processes - failures) passed, \(failures) failed")
    exit(failures == 0 ? 0 : 1)
}

var points = 0
var failures = 0
for seed in seeds {
    let story = CrashStory(seed: seed)
    let press = CrashStory.Press()
    let whole = try await story.play(stop: nil, end: .killed, press: press)
    if !whole.problems.isEmpty {
        failures += 1
        print("FAIL seed \(seed), played to its end: \(whole.problems.joined(separator: "; "))")
    }
    for end in CrashDisk.End.allCases {
        for step in stride(from: 1, through: max(whole.steps, 1), by: every) {
            points += 1
            let outcome = try await story.play(stop: step, end: end, press: press)
            guard !outcome.problems.isEmpty else { continue }
            failures += 1
            print("FAIL --only \(seed):\(step):\(end.rawValue): \(outcome.problems.joined(separator: "; "))")
        }
    }
    print("seed \(seed): \(whole.steps) steps, \(points) points so far, \(failures) failed")
}
print("\(points) points")
print("\(points - failures) passed, \(failures) failed")
exit(failures == 0 ? 0 : 1)
