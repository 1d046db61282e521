// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreReleases

/// A tree's list has exactly one text, and every name in it is plain.
enum ReleaseListProperty {
    private static let limits = ReleaseLimits(files: 8, bytes: 1 << 20, listBytes: 1 << 11)

    @Sendable static func check(_ bytes: [UInt8]) throws(Violation) -> Bool {
        guard let tree = try? ReleaseTree(list: bytes, limits: limits) else { return false }
        try demand(tree.list == bytes, "another text for the same tree")
        try demand(tree.digest == TreeDigest(of: bytes), "another name than its text's")
        try demand(tree.files.count <= 8 && bytes.count <= 1 << 11, "more files than allowed")
        var sum = 0
        var before: [UInt8]?
        var spellings: Set<String> = []
        let lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
        try demand(lines.count == tree.files.count + 1 && lines.last?.isEmpty == true, "lines that are no files")
        for (line, file) in zip(lines, tree.files) {
            let path = Array(file.path.text.utf8)
            try demand(
                line.elementsEqual("\(file.digest) \(file.size) ".utf8) || line.suffix(path.count) == path[...], "line")
            try demand(ReleasePathProperty.fault(path) == nil, ReleasePathProperty.fault(path) ?? "")
            try demand(before.map { $0.lexicographicallyPrecedes(path) } ?? true, "out of order")
            try demand(spellings.insert(file.path.text.uppercased().lowercased()).inserted, "one name for two files")
            before = path
            sum += file.size
            try demand(tree[file.path] == file, "a file that is not found")
        }
        try demand(sum == tree.bytes && sum <= 1 << 20, "\(sum) bytes")
        let absent = ReleaseKeys.made { () throws(NacreError) in try ReleasePath("not/there") }
        try demand(tree[absent].map { $0.path == absent } ?? true, "another file than was asked for")
        guard let again = try? ReleaseTree(tree.files.reversed(), limits: limits) else {
            throw Violation("not made again")
        }
        try demand(again == tree && again.list == bytes, "another tree in another order")
        return true
    }
}

/// A path that is taken leads down into the tree, is spelled in one way, and means the same everywhere.
enum ReleasePathProperty {
    @Sendable static func check(_ bytes: [UInt8]) throws(Violation) -> Bool {
        guard let text = String(validating: bytes, as: UTF8.self) else { return false }
        let fault = fault(bytes)
        guard let path = try? ReleasePath(text) else {
            try demand(fault != nil, "refused, and nothing is wrong with it")
            return false
        }
        try demand(fault == nil, fault ?? "")
        try demand(Array(path.text.utf8) == bytes, "spelled otherwise")
        return true
    }

    /// What is wrong with a path, by a reading of its own: character by character.
    static func fault(_ bytes: [UInt8]) -> String? {
        var (part, depth) = ([UInt8](), 1)
        for byte in bytes + [0x2F] {
            switch byte {
            case 0..<0x20, 0x5C, 0x7F: return "a character that is none of a path's"
            case 0x2F:
                if part.isEmpty { return "a part without a name" }
                if part == [0x2E] || part == [0x2E, 0x2E] { return "a part that leads elsewhere" }
                if part.count > 255 { return "a part that is too long" }
                part = []
                depth += 1
            default: part.append(byte)
            }
        }
        if depth - 1 > 32 { return "too deep" }
        if bytes.count > 1024 { return "too long" }
        let isLetter = bytes.first.map { (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0) } ?? false
        return isLetter && bytes.dropFirst().first == 0x3A ? "a drive" : nil
    }
}

/// Versions of the native app order as numbers do, and a range holds what lies between its ends.
enum NativeVersionProperty {
    @Sendable static func check(_ bytes: [UInt8]) throws(Violation) -> Bool {
        guard let text = String(validating: bytes, as: UTF8.self) else { return false }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard lines.count == 3 else { return false }
        let (minimum, below) = (lines[0].isEmpty ? nil : lines[0], lines[1].isEmpty ? nil : lines[1])
        guard let range = try? NativeRange(minimum: minimum, below: below), let version = try? NativeVersion(lines[2])
        else { return false }
        for line in [minimum, below, lines[2]] {
            guard let line else { continue }
            try demand(isVersion(line), "\(line) is taken")
        }
        let number = numbers(lines[2])
        let isAbove = minimum.map { !number.lexicographicallyPrecedes(numbers($0)) } ?? true
        let isBelow = below.map { number.lexicographicallyPrecedes(numbers($0)) } ?? true
        try demand(range.contains(version) == (isAbove && isBelow), "\(lines[2]) in \(lines[0]) ..< \(lines[1])")
        if let least = range.minimum {
            try demand((least < version) != (version <= least), "no order")
            try demand((least == version) == (numbers(lines[0]) == number), "equal by another measure")
            try demand(least != version || least.hashValue == version.hashValue, "equal with two hashes")
        }
        return true
    }

    private static func core(_ text: String) -> [UInt8] {
        Array(text.utf8.prefix { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: "+") })
    }

    private static func isVersion(_ text: String) -> Bool {
        let parts = core(text).split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return (1...4).contains(parts.count)
            && parts.allSatisfy { (1...9).contains($0.count) && $0.allSatisfy { (0x30...0x39).contains($0) } }
    }

    /// The numbers of a version, in a reading of its own.
    static func numbers(_ text: String) -> [Int] {
        var numbers = [0]
        for byte in core(text) {
            if byte == UInt8(ascii: ".") {
                numbers.append(0)
            } else {
                numbers[numbers.count - 1] = numbers[numbers.count - 1] * 10 + Int(byte) - 48
            }
        }
        while numbers.count < 4 { numbers.append(0) }
        return numbers
    }
}
