// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import Synchronization

/// Ends bodies that are longer than they may be.
enum BodyLimit {
    /// The same body, which throws `code` beyond `limit` bytes.
    static func limited(_ body: HTTPBody, to limit: Int?, code: NacreError.Code) -> HTTPBody {
        guard let limit, case .stream(let stream, let length) = body else { return body }
        let count = Mutex(0)
        return .stream(
            ByteStream {
                guard let bytes = try await stream.next() else { return nil }
                let sum = count.withLock { count in
                    count += bytes.count
                    return count
                }
                guard sum <= limit else {  // guard: body-limit
                    throw NacreError(code, "The body is longer than \(limit) bytes; send less at once.")
                }
                return bytes
            }, length: length)
    }
}
