// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CLinux
import NacreBridge
import NacreCore

/// The steps that need the system's own calls.
extension FileWork {
    static func unlinkAt(_ folder: ConfinedFolder, _ name: String) -> Bool {
        unlinkat(folder.descriptor, name, 0) == 0
    }

    static func makeFolder(_ folder: ConfinedFolder, _ name: String) throws {
        guard mkdirat(folder.descriptor, name, 0o700) == 0 else {
            throw ConfinedFolder.fault(nacre_errno(), name)
        }
    }

    static func moveAt(
        _ source: ConfinedFolder, _ name: String, _ target: ConfinedFolder, _ newName: String
    ) throws {
        guard renameat(source.descriptor, name, target.descriptor, newName) == 0 else {
            // The cache may lie on another disk.
            guard nacre_errno() == EXDEV else { throw ConfinedFolder.fault(nacre_errno(), name) }
            guard let entry = try source.entry(name), !entry.isFolder else {
                throw FileFault.notAllowed.rejection("a directory cannot move to another disk")
            }
            try copyFile(source, name, target, newName, SystemRandom())
            _ = unlinkAt(source, name)
            return
        }
    }

    /// Piece by piece, whatever the size.
    static func copyFile(
        _ source: ConfinedFolder, _ name: String, _ target: ConfinedFolder, _ newName: String,
        _ random: any RandomSource
    ) throws {
        if let there = try target.entry(newName), there.isFolder { throw FileFault.exists.rejection(newName) }
        let temporary = ConfinedFolder.temporary + random.identifier()
        do {
            var offset = 0
            while true {
                let bytes = try source.bytes(of: name, from: offset, upTo: 1 << 20)
                if bytes.isEmpty, offset > 0 { break }
                try target.append(temporary, bytes)
                if bytes.isEmpty { break }
                offset += bytes.count
            }
            guard renameat(target.descriptor, temporary, target.descriptor, newName) == 0 else {
                throw ConfinedFolder.fault(nacre_errno(), newName)
            }
        } catch {
            _ = unlinkAt(target, temporary)
            throw error
        }
    }
}
