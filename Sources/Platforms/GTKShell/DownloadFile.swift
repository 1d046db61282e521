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

        /// Removes a file and the folder made for it.
        static func remove(_ folder: String, _ path: String?) {
            if let path { unlink(path) }
            rmdir(folder)
        }

        /// What a person is told.
        static func sentence(_ error: any Error) -> String { (error as? NacreError)?.message ?? "\(error)" }
    }
#endif
