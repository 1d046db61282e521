// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// Where things lie in a bucket (UP-2): under `channels/<channel>/`, and nothing is shared between channels.
public enum ReleaseStore {
    public static func manifest(_ channel: String) -> String { "channels/\(channel)/manifest.json" }
    /// What `--stage-only` leaves for `promote`.
    public static func staged(_ channel: String) -> String { "channels/\(channel)/staged.json" }
    /// The bundle as the source system's clients fetch it.
    public static func bundle(_ channel: String, _ version: String) -> String {
        "channels/\(channel)/bundles/\(version).zip"
    }
    public static func release(_ channel: String, _ version: String) -> String {
        "channels/\(channel)/releases/\(version).json"
    }
    public static func releases(_ channel: String) -> String { "channels/\(channel)/releases/" }
    /// A file by the digest of its plain content, packed.
    public static func object(_ channel: String, _ digest: TreeDigest) -> String {
        let name = digest.description
        return "channels/\(channel)/objects/\(name.prefix(2))/\(name).zst"
    }
    /// The list of a tree's files by the tree's name, packed: with it, a device fetches only the objects that it lacks.
    public static func list(_ channel: String, _ tree: TreeDigest) -> String {
        "channels/\(channel)/trees/\(tree).list.zst"
    }
    public static func patch(_ channel: String, _ digest: TreeDigest) -> String {
        "channels/\(channel)/patches/\(digest).zst"
    }
    public static func keySet(_ channel: String, _ epoch: Int64) -> String { "channels/\(channel)/keys/\(epoch).json" }

    /// Whether a channel or a version can be a part of a key: letters, digits, `.`, `-`, `_`, `+`; no leading dot.
    public static func isName(_ text: String) -> Bool {
        let bytes = text.utf8
        guard let first = bytes.first, first != UInt8(ascii: "."), bytes.count <= 100 else { return false }
        return bytes.allSatisfy { byte in  // guard: store-name
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || [UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "+")].contains(byte)
        }
    }
}
