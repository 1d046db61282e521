// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import COpenSSL
import NacreCore

/// The error of a failed OpenSSL call, with OpenSSL's own reason; empties its error queue, which is per thread.
func opensslFault(
    _ code: NacreError.Code, _ message: String, file: String = #fileID, line: Int = #line
) -> NacreError {
    var reason: String?
    let number = ERR_get_error()
    if number != 0, let text = ERR_reason_error_string(number) { reason = String(cString: text) }
    ERR_clear_error()
    return NacreError(code, message, cause: reason.map { OpenSSLReason(text: $0) }, file: file, line: line)
}

private struct OpenSSLReason: Error, CustomStringConvertible {
    let text: String
    var description: String { "OpenSSL says: \(text)" }
}

/// Whatever a memory BIO has collected, as text.
func withMemoryBIO(_ write: (OpaquePointer) -> Int32) -> String? {
    guard let bio = BIO_new(BIO_s_mem()) else { return nil }
    defer { BIO_free(bio) }
    guard write(bio) == 1 else { return nil }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
        let count = BIO_read(bio, &buffer, Int32(buffer.count))
        guard count > 0 else { break }
        bytes += buffer[..<Int(count)]
    }
    return String(decoding: bytes, as: UTF8.self)
}

/// What `read` makes of a text that OpenSSL reads as a file. The bytes live until it has: OpenSSL keeps a pointer to them
/// and takes no copy.
func withTextBIO<Value>(_ text: String, _ read: (OpaquePointer) -> Value?) -> Value? {
    var text = text
    return text.withUTF8 { bytes in
        guard let bio = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return nil }
        defer { BIO_free(bio) }
        return read(bio)
    }
}
