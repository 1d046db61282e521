// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Synchronization

/// Learns which route answered a request: a middleware in front of a router puts one into the context and reads it
/// afterwards. A pattern, unlike a path, comes from a closed set and holds nothing of the client's.
public final class RouteNote: RequestContext.Key, Sendable {
    public typealias Value = RouteNote

    private let state = Mutex<String?>(nil)

    /// A note without a route.
    public init() {}

    /// The pattern of the matched route, such as `/api/v1.0/threads/:id/`; nil when none matched.
    public internal(set) var pattern: String? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
