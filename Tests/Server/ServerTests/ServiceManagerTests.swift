// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import Testing

@testable import NacreServer

@Suite struct ServiceManagerTests {
    private func read(_ environment: [String: String]) throws -> ServiceManager {
        try ServiceManager(environment: environment, process: 42)
    }

    @Test func `sockets go to the parts that their names say`() throws {
        let manager = try read(
            ["LISTEN_PID": "42", "LISTEN_FDS": "3", "LISTEN_FDNAMES": "metrics:gateway:provider"])
        #expect(manager.sockets == ["metrics": 3, "gateway": 4, "provider": 5])
    }

    @Test func `one socket without a name of ours is the gateway's`() throws {
        #expect(try read(["LISTEN_PID": "42", "LISTEN_FDS": "1"]).sockets == ["gateway": 3])
        #expect(
            try read(["LISTEN_PID": "42", "LISTEN_FDS": "1", "LISTEN_FDNAMES": "nacre.socket"]).sockets == [
                "gateway": 3
            ])
    }

    @Test(arguments: [[:], ["LISTEN_PID": "41", "LISTEN_FDS": "1"], ["LISTEN_FDS": "1"], ["LISTEN_PID": "42"]])
    func `sockets meant for another process are left alone`(_ environment: [String: String]) throws {
        #expect(try read(environment).sockets.isEmpty)
    }

    @Test(arguments: ["gateway:other", "gateway:gateway", ":"])
    func `sockets that nobody knows are said`(_ names: String) {
        let error = #expect(throws: NacreError.self) {
            _ = try read(["LISTEN_PID": "42", "LISTEN_FDS": "2", "LISTEN_FDNAMES": names])
        }
        #expect(error?.code == "service.sockets")
    }

    @Test func `the watchdog's time is read when it is meant for this process`() throws {
        #expect(try read(["WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "42"]).watchdog == .seconds(60))
        #expect(try read(["WATCHDOG_USEC": "60000000"]).watchdog == .seconds(60))
        #expect(try read(["WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "41"]).watchdog == nil)
        #expect(try read(["WATCHDOG_USEC": "0"]).watchdog == nil)
    }
}
