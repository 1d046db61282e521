// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreReleases
import NacreUpdates
import Testing

@testable import NacreApp

@Suite("updates of nacre.json")
struct UpdateConfigurationTests {
    private static func read(
        _ updates: String?, _ environment: [String: String] = [:], version: String = "1.2.0"
    ) throws(NacreError) -> AppConfiguration {
        let section = updates.map { ", \"updates\": \($0)" } ?? ""
        return try AppConfiguration(
            parsing: """
                {"app": {"id": "org.example.a", "name": "A", "version": "\(version)"},
                 "api": {"origin": "https://a.example"}\(section)}
                """, environment: environment, isDevelopment: true)
    }

    private static func fault(_ updates: String, _ environment: [String: String] = [:]) -> NacreError? {
        do throws(NacreError) {
            _ = try read(updates, environment)
            return nil
        } catch { return error }
    }

    @Test("UP-13: without a key there is no updater")
    func none() throws {
        #expect(try Self.read(nil).updates == nil)
        #expect(try Self.read("{}").updates == nil)
        #expect(try Self.read(#"{"channel": "prod"}"#).updates == nil)
        #expect(try Self.read(nil, ["MOBILE_OTA_SIGNING_PUBLIC_KEY_B64": ""]).updates == nil)
    }

    @Test("UP-1: a whole section is read; what is left out has its default")
    func whole() throws {
        let text = """
            {"publicKey": "\(UpdateKeys.archive)", "rootKeys": ["\(UpdateKeys.roots[0])", "\(UpdateKeys.roots[1])"],
             "rootThreshold": 2, "sequence": 7, "storageEpoch": 3, "appReadyTimeout": 2500, "channel": "prod"}
            """
        let read = try #require(try Self.read(text).updates)
        #expect(read.archiveKey?.rsaBits == 2048)
        #expect(read.roots?.keys.map(\.base64) == UpdateKeys.roots && read.roots?.threshold == 2)
        #expect(read.sequence == 7 && read.storageEpoch == 3 && read.appReadyTimeout == .milliseconds(2500))
        let least = try #require(try Self.read(#"{"rootKeys": ["\#(UpdateKeys.roots[0])"]}"#).updates)
        #expect(least.archiveKey == nil && least.roots?.threshold == 1 && least.sequence == nil)
        #expect(least.storageEpoch == 0 && least.appReadyTimeout == .seconds(10))
    }

    @Test("UP-1: the key comes in either PEM form, in base64 or as it is, and the environment's wins")
    func forms() throws {
        let own = try #require(try Self.read(#"{"publicKey": "\#(UpdateKeys.archive)"}"#).updates?.archiveKey)
        let other = try Self.read(#"{"publicKey": "\#(UpdateKeys.subjectPublicKeyInfo)"}"#).updates?.archiveKey
        let plain = String(decoding: try #require(Base64.decode(UpdateKeys.archive)), as: UTF8.self)
        let written = try Self.read(#"{"publicKey": \#(JSONValue.string(plain).text)}"#).updates?.archiveKey
        let environment = ["MOBILE_OTA_SIGNING_PUBLIC_KEY_B64": UpdateKeys.archive]
        let alone = try Self.read(nil, environment).updates?.archiveKey
        let over = try Self.read(#"{"publicKey": "abc"}"#, environment).updates?.archiveKey
        for key in [other, written, alone, over] { #expect(key?.pkcs1PEM == own.pkcs1PEM) }
    }

    static let wrongValues: [(String, String)] = [
        (#"{"publicKey": "abc"}"#, "updates.publicKey"), (#"{"publicKey": ""}"#, "updates.publicKey"),
        (#"{"publicKey": 1}"#, "updates.publicKey"), (#"{"publicKey": "QUJD"}"#, "updates.publicKey"),
        (#"{"rootKeys": ["def"]}"#, "updates.rootKeys"), (#"{"rootKeys": []}"#, "updates.rootKeys"),
        (#"{"rootKeys": "x"}"#, "updates.rootKeys"), (#"{"rootThreshold": 1}"#, "updates.rootThreshold"),
        (#"{"rootKeys": ["R", "R"]}"#, "updates.rootKeys"),
        (#"{"rootKeys": ["R"], "rootThreshold": 2}"#, "rootThreshold"),
        (#"{"rootKeys": ["R"], "sequence": 0}"#, "updates.sequence"),
        (#"{"rootKeys": ["R"], "sequence": 9007199254740992}"#, "updates.sequence"),
        (#"{"rootKeys": ["R"], "storageEpoch": -1}"#, "updates.storageEpoch"),
        (#"{"rootKeys": ["R"], "appReadyTimeout": 999}"#, "updates.appReadyTimeout"),
        (#"{"appReadyTimeout": 2000}"#, "updates.publicKey"), (#"{"sequence": 2}"#, "ota keygen"),
    ]

    @Test("SH-4: a wrong value is an error that names its key", arguments: wrongValues)
    func wrong(text: String, key: String) throws {
        let error = try #require(Self.fault(text.replacing("\"R\"", with: "\"\(UpdateKeys.roots[0])\"")))
        #expect(error.code == "configuration.value")
        #expect(error.message.contains(key))
    }

    @Test("A private key in the public one's place is refused and not repeated")
    func secret() throws {
        let error = try #require(Self.fault(#"{"publicKey": "\#(UpdateKeys.secret)"}"#))
        #expect(error.message.contains("private key") && !error.message.contains("MII"))
        let set = try #require(Self.fault("{}", ["MOBILE_OTA_SIGNING_PUBLIC_KEY_B64": UpdateKeys.secret]))
        #expect(set.message.contains("MOBILE_OTA_SIGNING_PUBLIC_KEY_B64") && set.message.contains("private key"))
    }

    @Test("UP-5: a key that is not of 2048 bits is refused")
    func size() throws {
        #expect(try #require(Self.fault(#"{"publicKey": "\#(UpdateKeys.large)"}"#)).message.contains("2048"))
    }

    @Test("An unknown key is an error that names the nearest")
    func unknown() throws {
        let error = try #require(Self.fault(#"{"rootKey": []}"#))
        #expect(error.code == "configuration.unknown_key" && error.message.contains("rootKeys"))
    }

    @Test("SH-2: with a development server, and while no server is chosen, there is no updater")
    func notNow() throws {
        let section = #"{"publicKey": "\#(UpdateKeys.archive)"}"#
        #expect(try Self.read(section).usesUpdates != nil)
        let served = try Self.read(section, ["MOBILE_DEV_SERVER_URL": "http://localhost:5173"])
        #expect(served.updates != nil && served.usesUpdates == nil)
    }

    @Test("An app with updates has a version that releases can name")
    func version() throws {
        let section = #"{"publicKey": "\#(UpdateKeys.archive)"}"#
        #expect(throws: NacreError.self) { try Self.read(section, version: "first") }
        #expect(try Self.read(nil, version: "first").version == "first")
    }

    @Test("UP-11: the version report speaks of the running bundle")
    func report() throws {
        let running = BootedBundle(folder: "/u/1", version: "0.2.0", stamp: "b2c3d4e", isOnTrial: true)
        let report = try Self.read(nil).versionReport(platform: "linux", running: running)
        #expect(report["report"] == "app 1.2.0 (1) · web 0.2.0 (b2c3d4e) · linux")
        #expect(report["native"]?["version"] == "1.2.0")
        let own = BootedBundle(folder: nil, version: "1.2.0", stamp: nil, isOnTrial: false)
        #expect(
            try Self.read(nil, ["SOURCE_VERSION": "abc"]).versionReport(platform: "linux", running: own)["report"]
                == "app 1.2.0 (1) · web 1.2.0 (abc) · linux")
    }
}
