// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore

/// Host names by the system's resolver, on threads of its own since that blocks.
public struct SystemResolver: Sendable {
    private let threads = WorkThreads(limit: 4, waiting: 64)

    /// A resolver.
    public init() {}

    /// The addresses of a host name, or the address itself; empty when there is none.
    ///
    /// - Throws: `work.busy` when too many look-ups wait already.
    public func addresses(of host: String) async throws -> [String] {
        try await threads.run { Host(name: host).addresses }
    }
}
