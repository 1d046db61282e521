// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Testing

@testable import NacreLinux

@Suite("What the system says of the machine")
struct LinuxDeviceTests {
    @Test(
        "A POSIX locale becomes a language tag",
        arguments: [
            ("fr_FR.UTF-8", "fr-FR"), ("de_DE@euro", "de-DE"), ("en", "en"), ("C.UTF-8", "en"), ("POSIX", "en"),
            ("", "en"),
        ])
    func languageTag(_ locale: String, _ tag: String) {
        #expect(LinuxDevice.languageTag(locale) == tag)
    }

    @Test("os-release is read with and without quotes")
    func release() {
        let values = LinuxDevice.release("# c\nNAME=\"Debian GNU/Linux\"\nVERSION_ID='12'\nID=debian\nbroken\nEMPTY=\n")
        #expect(values["NAME"] == "Debian GNU/Linux")
        #expect(values["VERSION_ID"] == "12")
        #expect(values["ID"] == "debian")
        #expect(values["broken"] == nil)
    }

    @Test("This machine is described with no empty field")
    func current() {
        let device = LinuxDevice.current()
        for text in [
            device.name, device.manufacturer, device.model, device.systemName, device.systemVersion, device.languageTag,
        ] {
            #expect(!text.isEmpty)
        }
    }
}
