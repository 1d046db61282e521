// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Glibc
import NacreFuzzProperties

/// The property that `NACRE_FUZZ_TARGET` names.
private let property: Property = {
    let name = getenv("NACRE_FUZZ_TARGET").map { String(cString: $0) } ?? ""
    guard let found = Property.all.first(where: { $0.name == name }) else {
        let names = Property.all.map(\.name).joined(separator: " ")
        fatalError("NACRE_FUZZ_TARGET must be one of: \(names)")
    }
    return found
}()

/// What libFuzzer calls with each input. A broken rule ends the process; libFuzzer then keeps the input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    do { _ = try property.check(Array(UnsafeBufferPointer(start: data, count: size))) } catch {
        fatalError("\(property.name): \(error)")
    }
    return 0
}
