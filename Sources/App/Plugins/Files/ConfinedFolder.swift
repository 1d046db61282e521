// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CLinux
import NacreBridge
import NacreCore

/// An open folder below a root. Every step goes from a descriptor to a name and follows no link, so that nothing that
/// happens in the tree meanwhile leads out of it. All calls block.
final class ConfinedFolder: Sendable {
    struct Entry {
        let name: String
        let isFolder: Bool
        let size: Int64
        let changed: Int64
        let modified: Int64
    }

    /// Half-written files carry it, and nobody sees them.
    static let temporary = ".nacre-"
    let descriptor: Int32

    private init(owning descriptor: Int32) { self.descriptor = descriptor }
    deinit { nacre_close(descriptor) }

    /// The root itself, which is opened by its path: links above it are the person's.
    static func root(_ path: String) throws -> ConfinedFolder {
        let descriptor = nacre_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        guard descriptor >= 0 else { throw fault(nacre_errno(), path) }
        return ConfinedFolder(owning: descriptor)
    }

    /// The folder that holds the place, and the place's own name in it.
    static func parent(of place: FilePlace, makes: Bool = false) throws -> (folder: ConfinedFolder, name: String) {
        guard let name = place.names.last else { throw FileFault.notAllowed.rejection("the directory itself") }
        var folder = try root(place.root)
        for step in place.names.dropLast() {
            if makes, mkdirat(folder.descriptor, step, 0o700) != 0, nacre_errno() != EEXIST {
                throw fault(nacre_errno(), place.absolute)
            }
            do {
                folder = try folder.folder(step)
            } catch let error as BridgeRejection where error.code == FileFault.missing.rawValue {
                throw FileFault.parentMissing.rejection(place.absolute)
            }
        }
        return (folder, name)
    }

    /// The folder at the place.
    static func at(_ place: FilePlace) throws -> ConfinedFolder {
        var folder = try root(place.root)
        for step in place.names { folder = try folder.folder(step) }
        return folder
    }

    func folder(_ name: String) throws -> ConfinedFolder {
        let descriptor = nacre_open_at(descriptor, name, 1)
        guard descriptor >= 0 else { throw Self.fault(nacre_errno(), name) }
        return ConfinedFolder(owning: descriptor)
    }

    /// What is called so, or nil; a link is nothing.
    func entry(_ name: String) throws -> Entry? {
        var status = stat()
        guard fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
            if nacre_errno() == ENOENT { return nil }
            throw Self.fault(nacre_errno(), name)
        }
        return Self.entry(name, status)
    }

    /// Of the folder itself.
    func ownEntry(_ name: String) throws -> Entry {
        var status = stat()
        guard fstat(descriptor, &status) == 0, let entry = Self.entry(name, status) else {
            throw Self.fault(nacre_errno(), name)
        }
        return entry
    }

    private static func entry(_ name: String, _ status: stat) -> Entry? {
        let kind = status.st_mode & mode_t(S_IFMT)
        guard kind == mode_t(S_IFREG) || kind == mode_t(S_IFDIR) else { return nil }
        func milliseconds(_ time: timespec) -> Int64 { Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000 }
        return Entry(
            name: name, isFolder: kind == mode_t(S_IFDIR), size: Int64(status.st_size),
            changed: milliseconds(status.st_ctim), modified: milliseconds(status.st_mtim))
    }

    /// Everything in it by name, links and half-written files left out.
    func entries() throws -> [Entry] {
        let copy = nacre_open_at(descriptor, ".", 1)
        guard copy >= 0, let stream = fdopendir(copy) else { throw Self.fault(nacre_errno(), ".") }
        defer { closedir(stream) }
        var names: [String] = []
        while let next = readdir(stream) {
            let bytes = withUnsafeBytes(of: next.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
            if let name = String(validating: bytes, as: UTF8.self), name != ".", name != "..",
                !name.hasPrefix(Self.temporary)
            {
                names.append(name)
            }
        }
        return try names.sorted().compactMap { try entry($0) }
    }

    /// Bytes of a regular file from `offset` on, at most `count`.
    func bytes(of name: String, from offset: Int = 0, upTo count: Int) throws -> [UInt8] {
        let file = nacre_open_at(descriptor, name, 0)
        guard file >= 0 else { throw Self.fault(nacre_errno(), name) }
        defer { nacre_close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & mode_t(S_IFMT) == mode_t(S_IFREG) else {
            throw FileFault.notAllowed.rejection("\(name) is no file")
        }
        let wanted = max(0, min(count, Int(status.st_size) - offset))
        var got = 0
        var reason: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: wanted) { buffer, initialized in
            while got < wanted {
                let count = pread(file, buffer.baseAddress! + got, wanted - got, off_t(offset + got))
                if count > 0 {
                    got += count
                } else if count == 0 {
                    break
                } else if nacre_errno() != EINTR {
                    reason = nacre_errno()
                    break
                }
            }
            initialized = got
        }
        guard reason == 0 else { throw Self.fault(reason, name) }
        return bytes
    }

    /// Puts a file in the place of whatever file is there: as a whole, or not at all.
    func replace(_ name: String, _ bytes: [UInt8], random: any RandomSource) throws {
        if let old = try entry(name), old.isFolder { throw FileFault.exists.rejection(name) }
        let temporary = Self.temporary + random.identifier()
        let file = nacre_write_at(descriptor, temporary, O_EXCL, 0o600)
        guard file >= 0 else { throw Self.fault(nacre_errno(), name) }
        var reason = Self.write(bytes, to: file)
        nacre_close(file)
        if reason == 0, renameat(descriptor, temporary, descriptor, name) != 0 { reason = nacre_errno() }
        guard reason == 0 else {
            unlinkat(descriptor, temporary, 0)
            throw Self.fault(reason, name)
        }
    }

    func append(_ name: String, _ bytes: [UInt8]) throws {
        let file = nacre_write_at(descriptor, name, O_APPEND, 0o600)
        guard file >= 0 else { throw Self.fault(nacre_errno(), name) }
        defer { nacre_close(file) }
        let reason = Self.write(bytes, to: file)
        guard reason == 0 else { throw Self.fault(reason, name) }
    }

    private static func write(_ bytes: [UInt8], to file: Int32) -> Int32 {
        var offset = 0
        while offset < bytes.count {
            let count = bytes[offset...].withUnsafeBytes { CLinux.write(file, $0.baseAddress, $0.count) }
            if count >= 0 { offset += count } else if nacre_errno() != EINTR { return nacre_errno() }
        }
        return 0
    }

    /// Removes one folder, with everything in it where `recursive`.
    func removeFolder(_ name: String, recursive: Bool) throws {
        if recursive {
            let inner = try folder(name)
            for entry in try inner.everyName() {
                if entry.isFolder {
                    try inner.removeFolder(entry.name, recursive: true)
                } else if unlinkat(inner.descriptor, entry.name, 0) != 0 {
                    throw Self.fault(nacre_errno(), entry.name)
                }
            }
        }
        guard unlinkat(descriptor, name, AT_REMOVEDIR) == 0 else { throw Self.fault(nacre_errno(), name) }
    }

    /// Links and half-written files too: what must go with the folder.
    private func everyName() throws -> [(name: String, isFolder: Bool)] {
        let copy = nacre_open_at(descriptor, ".", 1)
        guard copy >= 0, let stream = fdopendir(copy) else { throw Self.fault(nacre_errno(), ".") }
        defer { closedir(stream) }
        var found: [(String, Bool)] = []
        while let next = readdir(stream) {
            let bytes = withUnsafeBytes(of: next.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
            let name = String(decoding: bytes, as: UTF8.self)
            if name != ".", name != ".." { found.append((name, try entry(name)?.isFolder ?? false)) }
        }
        return found
    }

    static func fault(_ reason: Int32, _ what: String) -> BridgeRejection {
        switch reason {
        case ENOENT: FileFault.missing.rejection(what)
        case EACCES, EPERM, EROFS: FileFault.permission.rejection(what)
        case ENOTDIR, EISDIR, ELOOP, EINVAL: FileFault.notAllowed.rejection(what)
        case EEXIST: FileFault.exists.rejection(what)
        case ENOTEMPTY: FileFault.notEmpty.rejection(what)
        case ENAMETOOLONG: FileFault.path.rejection("a name is too long")
        case ENOSPC, EDQUOT: FileFault.other.rejection("there is no room left on the disk")
        default: FileFault.other.rejection("\(what) (error \(reason))")
        }
    }
}
