// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import Testing

@testable import NacreLinux

@Suite("The launch's environment", .serialized)
struct LaunchEnvironmentTests {
    /// The environment as a child of this process finds it.
    private func seenByChild() -> String {
        guard let pipe = popen("/usr/bin/env", "r") else { return "" }
        defer { pclose(pipe) }
        var text = ""
        while let byte = Optional(fgetc(pipe)), byte != EOF { text.unicodeScalars.append(Unicode.Scalar(UInt8(byte))) }
        return text
    }

    @Test("A forgotten secret is not seen by a child")
    func child() {
        let name = "NACRE_TEST_" + SystemRandom().identifier().filter { $0.isLetter || $0.isNumber }
        setenv(name, "a secret of the test", 1)
        #expect(seenByChild().contains("\(name)=a secret of the test"))
        LaunchEnvironment.forget(name)
        #expect(!seenByChild().contains(name))
        LaunchEnvironment.forget(name)
    }

    @Test("A forgotten secret's bytes are gone, so that the kernel does not show them")
    func bytes() throws {
        let name = "NACRE_TEST_" + SystemRandom().identifier().filter { $0.isLetter || $0.isNumber }
        let entry = try #require(strdup("\(name)=a secret of the test"))
        defer { free(entry) }
        putenv(entry)
        LaunchEnvironment.forget(name)
        #expect(String(cString: entry) == "\(name)=")
    }
}
