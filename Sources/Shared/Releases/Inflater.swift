// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CZlib
package import NacreCore

/// A raw deflate stream (RFC 1951), piece by piece.
package struct Inflater: ~Copyable {
    // zlib keeps the address of its stream, so the stream may not move.
    private let stream: UnsafeMutablePointer<z_stream>
    package private(set) var isFinished = false
    private static let piece = 128 * 1024

    package init() throws(NacreError) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard nacre_inflate_raw(stream) == Z_OK else {
            stream.deallocate()
            throw NacreError("archive.memory", "There is no memory to unpack an archive.")
        }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Takes the next packed bytes.
    ///
    /// - Throws: `archive.damaged`, also for bytes behind the stream's end; what `take` throws.
    package mutating func inflate(_ packed: [UInt8], _ take: ([UInt8]) throws(NacreError) -> Void) throws(NacreError) {
        let damaged = NacreError("archive.damaged", "The archive holds packed bytes that are none.")
        guard !isFinished else { throw damaged }
        let left = try packed.withUnsafeBufferPointer { (buffer) throws(NacreError) -> UInt32 in
            // zlib only reads from there.
            stream.pointee.next_in = UnsafeMutablePointer(mutating: buffer.baseAddress)
            stream.pointee.avail_in = UInt32(buffer.count)
            var out = [UInt8](repeating: 0, count: Self.piece)
            repeat {
                let (code, count) = out.withUnsafeMutableBufferPointer { space in
                    stream.pointee.next_out = space.baseAddress
                    stream.pointee.avail_out = UInt32(space.count)
                    let code = CZlib.inflate(stream, Z_NO_FLUSH)
                    return (code, space.count - Int(stream.pointee.avail_out))
                }
                guard code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR else { throw damaged }
                isFinished = code == Z_STREAM_END
                if count > 0 { try take(Array(out[..<count])) }
                if code == Z_BUF_ERROR || isFinished { break }
            } while stream.pointee.avail_in > 0 || stream.pointee.avail_out == 0
            return stream.pointee.avail_in
        }
        guard left == 0 else { throw damaged }
    }
}

/// The CRC-32 of zip.
struct ArchiveChecksum {
    private(set) var value: UInt32 = 0

    mutating func update(_ bytes: [UInt8]) { value = UInt32(crc32(UInt(value), bytes, UInt32(bytes.count))) }
}
