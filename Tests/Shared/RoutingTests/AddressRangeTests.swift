// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreRouting
import Testing

@Suite struct AddressRangeTests {
    @Test(
        "a network holds the addresses with its first bits, in every spelling",
        arguments: [
            ("10.0.0.0/8", "10.255.1.2", true), ("10.0.0.0/8", "11.0.0.0", false), ("10.0.0.0/9", "10.128.0.1", false),
            ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "192.0.2.2", false), ("0.0.0.0/0", "203.0.113.9", true),
            ("10.0.0.0/8", "::ffff:10.1.2.3", true), ("2001:db8::/32", "2001:DB8:ffff::1", true),
            ("2001:db8::/32", "2001:db9::1", false), ("::1", "0:0:0:0:0:0:0:1", true), ("::/0", "10.0.0.1", false),
            ("10.0.0.0/8", "10.1.2.3:8080", true), ("10.0.0.0/8", "10.1.2", false), ("10.0.0.0/8", "unknown", false),
        ])
    func contains(range: String, address: String, isIn: Bool) throws {
        #expect(try #require(AddressRange(range)).contains(address) == isIn)
    }

    @Test(
        "what is no network is refused",
        arguments: [
            "", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/08", "10.0.0.0/8/8", "10.1.2.3/8", "proxy",
            "10.0.0.0/",
            "2001:db8::1/32",
        ])
    func malformed(text: String) { #expect(AddressRange(text) == nil) }
}
