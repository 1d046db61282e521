// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CPostgres
import NacreCore

/// The identifiers of the types that PostgreSQL has built in (pg_type.dat).
enum PostgresType {
    static let bool: Oid = 16
    static let bytea: Oid = 17
    static let int8: Oid = 20
    static let int2: Oid = 21
    static let int4: Oid = 23
    static let text: Oid = 25
    static let float4: Oid = 700
    static let float8: Oid = 701
    static let numeric: Oid = 1700
    /// Types whose binary form is their text: name, "char", json, unknown, char(n), varchar(n), void.
    static let textual: Set<Oid> = [text, 18, 19, 114, 705, 1042, 1043, 2278]
}

/// Parameters in the binary form of the protocol, each with the type that its value has.
struct PostgresArguments {
    private(set) var types: [Oid] = []
    private(set) var lengths: [Int32] = []
    private var starts: [Int?] = []
    // One byte at least: an empty array has no address.
    private var bytes: [UInt8] = [0]

    init(_ values: [SQLValue]) {
        for value in values {
            let start = bytes.count
            switch value {
            case .null: types.append(0)
            case .integer(let number):
                types.append(PostgresType.int8)
                append(UInt64(bitPattern: number))
            case .real(let number):
                types.append(PostgresType.float8)
                append(number.bitPattern)
            case .text(let text):
                types.append(PostgresType.text)
                bytes += text.utf8
            case .blob(let blob):
                types.append(PostgresType.bytea)
                bytes += blob
            }
            starts.append(value.isNull ? nil : start)
            lengths.append(Int32(clamping: bytes.count - start))
        }
    }

    private mutating func append(_ number: UInt64) {
        for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
    }

    var count: Int32 { Int32(clamping: types.count) }

    /// Calls `body` with what libpq takes: types, values, lengths and formats.
    func withPointers<Result>(
        _ body: ([Oid], [UnsafePointer<CChar>?], [Int32], [Int32]) -> Result
    ) -> Result {
        bytes.withUnsafeBytes { buffer in
            let base = buffer.bindMemory(to: CChar.self).baseAddress
            return body(
                types, starts.map { start in start.flatMap { base?.advanced(by: $0) } }, lengths,
                Array(repeating: 1, count: types.count))
        }
    }
}

extension SQLValue {
    /// A column's value in the binary form of its type.
    ///
    /// - Throws: `database.column` for a type outside the portable subset.
    init(postgres bytes: UnsafeRawBufferPointer, type: Oid, column: String) throws(NacreError) {
        func number() -> Int64 {
            var result: Int64 = bytes.first.map { $0 & 0x80 == 0 ? 0 : -1 } ?? 0
            for byte in bytes { result = result << 8 | Int64(byte) }
            return result
        }
        switch type {
        case PostgresType.int8, PostgresType.int4, PostgresType.int2: self = .integer(number())
        case PostgresType.bool: self = .integer(bytes.first == 1 ? 1 : 0)
        case PostgresType.bytea: self = .blob(Array(bytes))
        case PostgresType.float8: self = .real(Double(bitPattern: UInt64(bitPattern: number())))
        case PostgresType.float4: self = .real(Double(Float(bitPattern: UInt32(truncatingIfNeeded: number()))))
        // A sum of whole numbers is `numeric`.
        case PostgresType.numeric: self = Self.numeric(bytes)
        case let type where PostgresType.textual.contains(type): self = .text(String(decoding: bytes, as: UTF8.self))
        default:
            throw NacreError(
                "database.column",
                "The column \"\(column)\" has a type outside the portable subset (\(type)); use BIGINT, TEXT, BYTEA or "
                    + "DOUBLE PRECISION.")
        }
    }

    /// `numeric`: counts and a sign in 16 bits each, then digits to the base 10,000.
    private static func numeric(_ bytes: UnsafeRawBufferPointer) -> SQLValue {
        func word(_ index: Int) -> Int {
            guard bytes.count >= 2 * index + 2 else { return 0 }
            return Int(bytes[2 * index]) << 8 | Int(bytes[2 * index + 1])
        }
        let count = word(0)
        let weight = Int(Int16(truncatingIfNeeded: word(1)))
        let (isNegative, isNumber) = (word(2) == 0x4000, word(2) & 0xC000 != 0xC000)
        guard isNumber else { return .real(.nan) }
        var whole: Int64? = 0
        var real = 0.0
        for place in 0..<max(count, weight + 1) {
            let digit = place < count ? word(4 + place) : 0
            let power = weight - place
            if power >= 0 {
                real = real * 10_000 + Double(digit)
                whole = whole.flatMap { whole in
                    let (product, first) = whole.multipliedReportingOverflow(by: 10_000)
                    let (sum, second) = product.addingReportingOverflow(Int64(digit))
                    return first || second ? nil : sum
                }
            } else if digit != 0 {
                whole = nil
                var scaled = Double(digit)
                for _ in 0..<(-power) { scaled /= 10_000 }
                real += scaled
            }
        }
        if let whole { return .integer(isNegative ? -whole : whole) }
        return .real(isNegative ? -real : real)
    }
}
