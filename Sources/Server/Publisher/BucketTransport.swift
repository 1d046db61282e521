// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CLinux
import NacreCore
import NacreHTTP
import NacreReleases
import NacreUpdates

/// Answers the app's requests from the bucket itself, where nothing serves it under the public address yet.
struct BucketTransport: HTTPTransport {
    let bucket: any ReleaseBucket
    /// What every path begins with; the key follows.
    let base: String
    let threads: WorkThreads
    let work: WorkFolder

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard let key = key(request.path) else { return HTTPResponse(status: .notFound) }
        guard key.hasSuffix(".zip") else {
            let item = try await bucket.get(key, upTo: BundleDownload.unsignedLimit)
            return item.map { HTTPResponse(status: .ok, body: .bytes($0.bytes)) } ?? HTTPResponse(status: .notFound)
        }
        // What may be large goes by the disk.
        let copy = work.file("copy-\(TreeDigest(of: Array(key.utf8)))")
        guard try await bucket.download(key, to: copy, upTo: BundleDownload.unsignedLimit) else {
            return HTTPResponse(status: .notFound)
        }
        let threads = threads
        let file = try await threads.run {
            let file = try FileBytes(copy)
            // It goes with its last reader.
            unlink(copy)
            return file
        }
        let place = FilePlace()
        let body = ByteStream {
            let range = place.next(1 << 20, of: file.count)
            return range.isEmpty ? nil : try await threads.run { try file.read(range) }
        }
        return HTTPResponse(status: .ok, body: .stream(body, length: file.count))
    }

    /// The manifest says where its bundle lies, and is not believed: no way leads out of the bucket.
    private func key(_ path: String) -> String? {
        guard path.hasPrefix(base), let key = PercentEncoding.decode(path.dropFirst(base.count)),
            !key.split(separator: "/").contains("..")  // guard: bucket-transport-key
        else { return nil }
        return key
    }
}
