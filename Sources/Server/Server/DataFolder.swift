// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CLinux
import Foundation
import NacreCore

/// The folder for databases and keys, which only this user may enter.
struct DataFolder: Sendable {
    let path: String
    /// Whose process this is.
    private let user: uid_t

    /// Makes the folder where it is missing, and keeps everyone else out of it and of its files, also when they were
    /// there before.
    ///
    /// - Throws: `server.data` that says what to do.
    init(_ path: String, user: uid_t = geteuid()) throws(NacreError) {
        self.path = path
        self.user = user
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw NacreError(
                "server.data", "The folder \(path) cannot be made; set \"data\" (NACRE_DATA) to one that can.",
                cause: error)
        }
        try makePrivate()
    }

    private func makePrivate() throws(NacreError) {
        let folder = nacre_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        guard folder >= 0 else {
            throw NacreError(
                "server.data", "The folder \(path) cannot be opened (\(Self.text(nacre_errno()))); check whose it is.")
        }
        defer { nacre_close(folder) }
        var found = stat()
        guard nacre_describe(folder, &found) == 0, [found.st_uid, 0].contains(user) else {  // guard: folder-owner
            throw NacreError(
                "server.data",
                "The folder \(path) belongs to another user (number \(found.st_uid)), who could read every key in it; "
                    + "run this as that user, or set \"data\" (NACRE_DATA) to a folder of your own.")
        }
        if found.st_mode & 0o077 != 0 {  // guard: folder-mode
            guard fchmod(folder, 0o700) == 0 else {
                throw NacreError(
                    "server.data", "The folder \(path) cannot be closed to others; type chmod 700 \(path).")
            }
        }
        for name in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] {
            guard let file = FileView(in: folder, name), file.isOwn, file.mode & 0o077 != 0 else { continue }
            try file.setMode(0o600, place: self.file(name))  // guard: file-modes
        }
    }

    /// The path of a file in it.
    func file(_ name: String) -> String { path + "/" + name }

    /// The file that says that a restore began and has not ended.
    static let restoreMark = "restore.incomplete"

    /// - Throws: `server.half_restored`: starting now would make new keys beside old data.
    func refuseHalfRestored() throws(NacreError) {
        guard !FileManager.default.fileExists(atPath: file(Self.restoreMark)) else {  // guard: half-restored
            throw NacreError(
                "server.half_restored",
                "A restore into \(path) was interrupted; run nacre admin restore again with the same file and --force.")
        }
    }

    /// The text of a secret file, or nil where there is none.
    ///
    /// - Throws: `server.data`: a link, a file of another user, or one that cannot be read.
    func existing(_ name: String) throws(NacreError) -> String? {
        let place = file(name)
        let descriptor = nacre_open(place, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0)  // guard: key-link
        guard descriptor >= 0 else {
            let reason = nacre_errno()
            if reason == ENOENT { return nil }
            throw NacreError(
                "server.data",
                reason == ELOOP
                    ? "\(place) is a link; put the file itself there."
                    : "\(place) cannot be read (\(Self.text(reason))); give this user permission.")
        }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var found = stat()
        guard nacre_describe(descriptor, &found) == 0, nacre_is_plain_file(found.st_mode) != 0,
            [user, 0].contains(found.st_uid) || user == 0  // guard: key-owner
        else {
            throw NacreError(
                "server.data",
                "\(place) is no plain file of this user's; whoever put it there may know what is in it.")
        }
        do {
            return String(decoding: try handle.read(upToCount: 65_536) ?? Data(), as: UTF8.self)
        } catch {
            throw NacreError("server.data", "\(place) cannot be read; give this user permission.", cause: error)
        }
    }

    /// The text of a secret file, made by `make` and written for this user alone where it is missing.
    ///
    /// Of several processes that start at once, one makes it and all get that one. It is there whole or not at all,
    /// whenever the process is killed; what such a process left beside it is taken away.
    /// - Throws: `server.data`; a file that cannot be read is never replaced.
    func secret(_ name: String, make: () throws -> String) throws -> String {
        if let text = try existing(name) {
            if access(file(name) + ".new", F_OK) == 0 { try tidy(name) }
            return text
        }
        let lock = try FolderLock.ofKeys(self)  // guard: keys-lock
        defer { withExtendedLifetime(lock) {} }
        if let text = try existing(name) { return text }
        let text = try make()
        do { try PrivateFile.replace(file(name), Array(text.utf8)) } catch {
            throw NacreError("server.data", error.message, cause: error)
        }
        return text
    }

    /// Removes the half of a key that a killed process left.
    private func tidy(_ name: String) throws(NacreError) {
        let lock = try FolderLock.ofKeys(self)
        defer { withExtendedLifetime(lock) {} }
        unlink(file(name) + ".new")  // guard: key-leftover
    }

    private static func text(_ reason: Int32) -> String { String(cString: nacre_error_text(reason)) }
}

/// One name of a folder as it is now, whatever somebody puts there next; never what a link leads to.
final class FileView {
    private let descriptor: Int32
    private let found: stat

    /// Nil when there is nothing of that name.
    init?(in folder: Int32, _ name: String) {
        let descriptor = nacre_look_at(folder, name)
        guard descriptor >= 0 else { return nil }
        var found = stat()
        let reason = nacre_describe(descriptor, &found)
        self.descriptor = descriptor
        self.found = found
        guard reason == 0 else { return nil }
    }

    deinit { nacre_close(descriptor) }

    var mode: mode_t { found.st_mode & 0o7777 }

    /// Whether this process made it: a plain file of its user. One with a second name may be anybody's: where links to
    /// foreign files can be made, the other name may lead to one of those.
    var isOwn: Bool {
        // guard: owner-links
        nacre_is_plain_file(found.st_mode) != 0 && found.st_uid == geteuid() && found.st_nlink == 1
    }

    /// - Throws: `server.data`.
    func setMode(_ mode: mode_t, place: String) throws(NacreError) {
        guard nacre_set_mode(descriptor, mode) == 0 else {
            throw NacreError("server.data", "\(place) cannot be closed to others; type chmod 600 \(place).")
        }
    }

    /// Whether it could be given away.
    func give(to owner: uid_t, _ group: gid_t) -> Bool { nacre_give_to(descriptor, owner, group) == 0 }
}
