// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// How much a request may spend before its body.
public struct ParsingLimits: Sendable {
    /// Bytes of the request line and all header fields together. Default 32 KiB; beyond it 431.
    public var headBytes = 32 * 1024
    /// Bytes of the request target. Default 8 KiB; beyond it 414.
    public var targetBytes = 8 * 1024
    /// Header fields, and separately trailer fields. Default 100; beyond it 431.
    public var fieldCount = 100
    /// Bytes of one chunk-size line with its extensions. Default 256; beyond it 400.
    public var chunkLineBytes = 256
    /// Bytes of all trailer fields together. Default 8 KiB; beyond it 431.
    public var trailerBytes = 8 * 1024

    /// The defaults.
    public init() {}
}
