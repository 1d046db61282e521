// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import Synchronization

/// The signed word that a release is still the newest, as `nacre ota freshness` writes it into a file; read anew every
/// minute, so that a timer may write it.
final class FreshnessFile: Sendable {
    private static let interval: Duration = .seconds(60)
    private static let limit = 16 * 1024

    private let path: String
    private let log: Log
    private let threads = WorkThreads(limit: 1)
    private let state = Mutex<JSONValue?>(nil)

    init(_ path: String, log: Log) { (self.path, self.log) = (path, log) }

    /// The last one that could be read. Its signature and end are the app's to judge.
    var value: JSONValue? { state.withLock { $0 } }

    /// Until the task is cancelled.
    func run(_ time: any TimeSource) async {
        while !Task.isCancelled {
            await read()
            do { try await time.sleep(for: Self.interval) } catch { return }
        }
    }

    func read() async {
        do {
            let found = try await threads.run { [path] in
                guard let bytes = try PrivateFile.read(path, upTo: Self.limit) else {
                    throw NacreError("file.read", "There is no \(path).")
                }
                let value = try JSONParser.parse(bytes)
                let hasBoth = value["payload"]?.string != nil && value["signatures"]?.array != nil
                guard hasBoth else {  // guard: freshness-file
                    throw NacreError("freshness.file", "\(path) is not what nacre ota freshness writes.")
                }
                return value
            }
            state.withLock { $0 = found }
        } catch {
            log.warning("updates.freshness", ["error": .string((error as? NacreError)?.message ?? "\(error)")])
        }
    }
}
