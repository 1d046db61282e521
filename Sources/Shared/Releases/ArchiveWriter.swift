// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CZip
public import NacreCore

/// Writes a tree as a zip archive, by libzip. The same files give the same bytes: no times, no owners, one order.
public enum ArchiveWriter {
    /// 1980-01-01, the oldest moment a zip can name, in seconds since 1970 where it is read as local time.
    private static let noTime: (date: UInt16, time: UInt16) = (1 << 5 | 1, 0)

    /// Writes `files` (a path in the archive, and where the file is) to `path`.
    ///
    /// - Throws: `archive.write`.
    public static func write(
        _ files: [(path: ReleasePath, file: String)], to path: String
    ) throws(NacreError) {
        var code: Int32 = 0
        guard let archive = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &code) else {
            throw NacreError("archive.write", "The archive \(path) cannot be made (libzip says \(code)).")
        }
        for (name, file) in files.sorted(by: { $0.path < $1.path }) {
            let source = zip_source_file(archive, file, 0, 0)
            let index = source.map { zip_file_add(archive, name.text, $0, UInt32(ZIP_FL_ENC_UTF_8)) } ?? -1
            guard index >= 0 else {
                zip_source_free(source)
                let reason = String(cString: zip_strerror(archive))
                zip_discard(archive)
                throw NacreError("archive.write", "\(file) cannot be put into the archive: \(reason).")
            }
            zip_set_file_compression(archive, UInt64(index), ZIP_CM_DEFLATE, 9)
            zip_file_set_dostime(archive, UInt64(index), noTime.time, noTime.date, 0)
            zip_file_set_external_attributes(archive, UInt64(index), 0, UInt8(ZIP_OPSYS_UNIX), 0o100644 << 16)
        }
        guard zip_close(archive) == 0 else {
            let reason = String(cString: zip_strerror(archive))
            zip_discard(archive)
            throw NacreError("archive.write", "The archive \(path) cannot be written: \(reason).")
        }
    }
}
