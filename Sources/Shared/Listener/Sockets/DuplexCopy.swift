// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreHTTP

/// Joins two connections into a tunnel.
package enum DuplexCopy {
    /// Copies both ways until both sides have ended their half, or one breaks; then closes both.
    package static func bothWays(_ a: any DuplexStream, _ b: any DuplexStream) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await oneWay(from: a, to: b) }
            group.addTask { await oneWay(from: b, to: a) }
        }
        await a.close()
        await b.close()
    }

    private static func oneWay(from source: any DuplexStream, to target: any DuplexStream) async {
        do {
            while let bytes = try await source.read() { try await target.write(bytes) }
            try await target.finishWriting()
        } catch {
            await source.close()
            await target.close()
        }
    }
}
