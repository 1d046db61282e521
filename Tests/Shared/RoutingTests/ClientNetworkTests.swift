// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreRouting
import Testing

@Suite("Whom a limit counts")
struct ClientNetworkTests {
    @Test(
        "An address is counted by its network, however it is written",
        arguments: [
            ("192.0.2.1", "192.0.2.1"), ("192.0.2.1:4711", "192.0.2.1"), ("::ffff:192.0.2.1", "192.0.2.1"),
            ("::ffff:c000:201", "192.0.2.1"), ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
            ("2001:db8:1:2::1", "2001:db8:1:2::/64"), ("2001:0DB8:0001:0002::ffff", "2001:db8:1:2::/64"),
            ("2001:db8:1:2:0:0:a:b", "2001:db8:1:2::/64"), ("[2001:db8:1:2::9]:443", "2001:db8:1:2::/64"),
            ("2001:db8::1", "2001:db8:0:0::/64"), ("::1", "0:0:0:0::/64"), ("::", "0:0:0:0::/64"),
            ("fe80::1%eth0", "fe80:0:0:0::/64"), ("2001:db8:1::", "2001:db8:1:0::/64"),
            ("2001:db8:1:2::192.0.2.1", "2001:db8:1:2::/64"),
        ])
    func names(address: String, name: String) {
        #expect(ClientNetwork.name(of: address) == name)
    }

    @Test(
        "What is no address stands for itself",
        arguments: [
            "", "unknown", "_hidden", ":", "1:2", "1::2::3", "1:2:3:4:5:6:7:8:9", "g::1", "::1.2.3", "12345::",
            "1:2:3:4:5:6:7::8:9", "::+1",
        ])
    func others(text: String) {
        #expect(ClientNetwork.name(of: text) == text)
    }

    @Test(
        "One address has one spelling, whatever stands beside it",
        arguments: [
            ("::1", "0:0:0:0:0:0:0:1"), ("[::1]:80", "0:0:0:0:0:0:0:1"), ("0:0::1", "0:0:0:0:0:0:0:1"),
            ("::ffff:10.0.0.1", "10.0.0.1"), ("10.0.0.1:443", "10.0.0.1"), ("FE80::A%eth0", "fe80:0:0:0:0:0:0:a"),
        ])
    func spellings(address: String, canonical: String) { #expect(ClientNetwork.canonical(address) == canonical) }

    @Test(
        "What is no address has no spelling",
        arguments: ["", "localhost", "10.0.0.0/8", "10.0.0", "010.0.0.1", "256.1.1.1", "::1::", "g::1"])
    func noAddress(text: String) { #expect(ClientNetwork.canonical(text) == nil) }
}
