// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CLinux
package import NacreCore
package import NacreReleases

/// What the updater does to the disk. Each call is one step after which a machine may stop, and a test stops it there.
///
/// Calls block; make them off the cooperative pool.
package protocol UpdateDisk: Sendable {
    /// Makes a folder that only the user may enter; harmless when it is there.
    func makeFolder(_ path: String) throws(NacreError)
    /// A new, empty file in the place of whatever was there.
    func create(_ path: String) throws(NacreError) -> any UpdateFile
    /// A file to write on at its end; made where it is missing.
    func extend(_ path: String) throws(NacreError) -> any UpdateFile
    /// Puts a file or folder in another place; a file that was there is replaced.
    func rename(_ from: String, to: String) throws(NacreError)
    /// Removes a file or a whole folder; harmless when there is none.
    func remove(_ path: String) throws(NacreError)
    /// Brings a folder's names to the disk.
    func sync(folder: String) throws(NacreError)
    /// Brings the contents of everything written so far on the file system of `path` to the disk.
    func syncAll(at path: String) throws(NacreError)
    func read(_ path: String, upTo limit: Int) throws(NacreError) -> [UInt8]?
    /// The names in a folder; none when it is not there.
    func names(in folder: String) throws(NacreError) -> [String]
    /// Bytes of a plain file; nil when there is none.
    func size(of path: String) -> Int?
    func isFolder(_ path: String) -> Bool
    /// Bytes that may still be written at a place; nil where nobody knows.
    func space(at path: String) -> Int?
}

/// A file that is being written.
package protocol UpdateFile {
    func write(_ bytes: [UInt8]) throws(NacreError)
    /// Brings it to the disk.
    func sync() throws(NacreError)
    /// Ends the writing and gives what was written, of this very file: another one that has taken its name is not read.
    func contents() throws(NacreError) -> any RandomAccessBytes
    func close()
}

extension UpdateDisk {
    /// Puts whole bytes in the place of a file: beside it, on the disk, and then over it.
    package func replace(_ path: String, _ bytes: [UInt8]) throws(NacreError) {
        let temporary = path + ".new"
        let file = try create(temporary)
        do throws(NacreError) {
            try file.write(bytes)
            try file.sync()
        } catch {
            file.close()
            throw error
        }
        file.close()
        try rename(temporary, to: path)
        try sync(folder: UpdateDiskPath.folder(of: path))
    }
}

/// The disk of this system.
package struct SystemDisk: UpdateDisk {
    private let isLasting: Bool

    /// - Parameter isLasting: whether what is written is to outlast a failure of the power; a folder that is used up in one
    ///   run is not, and spares the disk.
    package init(isLasting: Bool = true) { self.isLasting = isLasting }

    package func makeFolder(_ path: String) throws(NacreError) { try PrivateFile.makeFolder(path) }

    package func create(_ path: String) throws(NacreError) -> any UpdateFile {
        unlink(path)
        return try SystemFile(path, O_RDWR | O_CREAT | O_EXCL)
    }

    package func extend(_ path: String) throws(NacreError) -> any UpdateFile {
        try SystemFile(path, O_RDWR | O_CREAT | O_APPEND)
    }

    package func rename(_ from: String, to: String) throws(NacreError) {
        guard CLinux.rename(from, to) == 0 else { throw Self.fault(to) }
    }

    package func remove(_ path: String) throws(NacreError) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & mode_t(S_IFMT) == mode_t(S_IFDIR) else {
            guard unlink(path) == 0 || nacre_errno() == ENOENT else { throw Self.fault(path) }
            return
        }
        for name in try names(in: path) { try remove(path + "/" + name) }
        guard rmdir(path) == 0 || nacre_errno() == ENOENT else { throw Self.fault(path) }
    }

    package func sync(folder: String) throws(NacreError) {
        guard isLasting else { return }
        let handle = nacre_open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        guard handle >= 0 else { throw Self.fault(folder) }
        defer { nacre_close(handle) }
        guard fsync(handle) == 0 else { throw Self.fault(folder) }
    }

    package func syncAll(at path: String) throws(NacreError) {
        guard isLasting else { return }
        let handle = nacre_open(path, O_RDONLY | O_CLOEXEC, 0)
        guard handle >= 0 else { throw Self.fault(path) }
        defer { nacre_close(handle) }
        guard syncfs(handle) == 0 else { throw Self.fault(path) }
    }

    package func read(_ path: String, upTo limit: Int) throws(NacreError) -> [UInt8]? {
        try PrivateFile.read(path, upTo: limit)
    }

    package func names(in folder: String) throws(NacreError) -> [String] {
        guard let names = FolderNames.read(folder) else {
            if nacre_errno() == ENOENT { return [] }
            throw NacreError("file.read", "The folder \(folder) cannot be read (error \(nacre_errno())).")
        }
        return names.sorted()
    }

    package func size(of path: String) -> Int? {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & mode_t(S_IFMT) == mode_t(S_IFREG) else { return nil }
        return Int(status.st_size)
    }

    package func isFolder(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & mode_t(S_IFMT) == mode_t(S_IFDIR)
    }

    package func space(at path: String) -> Int? {
        var figures = statvfs()
        guard statvfs(path, &figures) == 0 else { return nil }
        let (bytes, overflow) = Int(figures.f_bavail).multipliedReportingOverflow(by: Int(figures.f_frsize))
        return overflow ? .max : bytes
    }

    static func fault(_ path: String) -> NacreError { PrivateFile.fault(path, nacre_errno()) }
}

private final class SystemFile: UpdateFile {
    private let path: String
    private var descriptor: Int32

    init(_ path: String, _ flags: Int32) throws(NacreError) {
        self.path = path
        descriptor = nacre_open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw SystemDisk.fault(path) }
    }

    func write(_ bytes: [UInt8]) throws(NacreError) {
        var offset = 0
        while offset < bytes.count {
            let count = bytes[offset...].withUnsafeBytes { CLinux.write(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 { offset += count } else if nacre_errno() != EINTR { throw SystemDisk.fault(path) }
        }
    }

    func sync() throws(NacreError) {
        guard fsync(descriptor) == 0 else { throw SystemDisk.fault(path) }
    }

    func contents() throws(NacreError) -> any RandomAccessBytes {
        defer { descriptor = -1 }
        return try FileBytes(adopting: descriptor)
    }

    func close() {
        guard descriptor >= 0 else { return }
        nacre_close(descriptor)
        descriptor = -1
    }

    deinit { if descriptor >= 0 { nacre_close(descriptor) } }
}
