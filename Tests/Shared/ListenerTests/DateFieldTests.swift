// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Testing

@testable import NacreListener

@Suite("The Date field")
struct DateFieldTests {
    @Test(
        "Known moments are written as RFC 9110 wants",
        arguments: [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_827_696, "Tue, 29 Feb 2000 12:34:56 GMT"), (4_107_542_399, "Sun, 28 Feb 2100 23:59:59 GMT"),
            (1_796_083_200, "Tue, 01 Dec 2026 00:00:00 GMT"),
        ] as [(Int64, String)])
    func moments(_ seconds: Int64, _ text: String) {
        #expect(DateField.text(seconds) == text)
    }
}
