// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import Glibc
    import NacreCore
    import NacrePage

    /// Names and leftovers of files that WebKit writes by itself.
    enum DownloadFile {
        /// A safe form of the name that WebKit proposes.
        static func name(_ suggested: String) -> String { DownloadName.sanitize(suggested) ?? "download" }

        /// What a `Content-Disposition` field says.
        static func isAttachment(_ field: String) -> Bool { ContentDisposition(field)?.isAttachment ?? false }

        /// Removes a file, where it still is, and the folder made for it.
        static func remove(_ path: String) {
            unlink(path)
            if let slash = path.lastIndex(of: "/") { rmdir(String(path[..<slash])) }
        }

        /// What a person is told.
        static func sentence(_ error: any Error) -> String { (error as? NacreError)?.message ?? "\(error)" }
    }
#endif
