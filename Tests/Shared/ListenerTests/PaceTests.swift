// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreHTTP
import NacreRouting
import Testing

@testable import NacreListener

@Suite("What a client may cost") struct PaceTests {
    @Test(
        "connections are counted by IPv4 address, and by 64 bits of an IPv6 address",
        arguments: [
            ([192, 0, 2, 1], [192, 0, 2, 2], false), ([192, 0, 2, 1], [192, 0, 2, 1], true),
            (v6(1, last: 1), v6(1, last: 200), true), (v6(1, last: 1), v6(2, last: 1), false),
        ] as [([UInt8], [UInt8], Bool)])
    func networks(a: [UInt8], b: [UInt8], isOne: Bool) {
        #expect((Service.network(of: a) == Service.network(of: b)) == isOne)
    }

    /// 2001:db8:0:N::last
    private static func v6(_ network: UInt8, last: UInt8) -> [UInt8] {
        [0x20, 1, 0x0D, 0xB8, 0, 0, 0, network, 0, 0, 0, 0, 0, 0, 0, last]
    }

    @Test func `waiting uses the credit up, bytes earn it back up to the window, and a stall is a stall`() throws {
        let meter = try #require(PaceMeter(BodyPace(bytesPerSecond: 100, window: .seconds(10))))
        let start = Deadline.now
        func left(stall: Duration = .seconds(3600)) -> Double {
            Double(meter.deadline(start, stall: stall).nanoseconds - start.nanoseconds) / 1e9
        }
        #expect(left() == 10)
        #expect(left(stall: .seconds(4)) == 4)
        // As if the wait had begun seven seconds ago.
        meter.waited(since: Deadline(nanoseconds: Deadline.now.nanoseconds - 7_000_000_000))
        #expect(left() <= 3 && left() > 2)
        meter.moved(200)
        #expect(left() <= 5 && left() > 4)
        meter.moved(1_000_000)
        #expect(left() == 10)
        meter.waited(since: Deadline(nanoseconds: Deadline.now.nanoseconds - 60_000_000_000))
        #expect(left() == 0)
        #expect(PaceMeter(nil) == nil)
    }

    @Test func `ranges of proxies are known by bytes as by text`() throws {
        let range = try #require(AddressRange("10.0.0.0/8"))
        #expect(range.contains(octets: [10, 1, 2, 3]) && !range.contains(octets: [11, 1, 2, 3]))
        let wide = try #require(AddressRange("2001:db8::/32"))
        #expect(wide.contains(octets: Self.v6(9, last: 9)) && !wide.contains(octets: [10, 1, 2, 3]))
    }
}
