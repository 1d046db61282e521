// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreApp
import NacreCore
import Testing

@Suite("Authorities of a test server")
struct APIAuthoritiesTests {
    private static let file = """
        {"app": {"id": "org.example.messages", "name": "Messages", "version": "1.0.0"},
         "api": {"origin": "https://mail.example.org"}}
        """

    @Test("Development may name a file of authorities; an empty value is none")
    func development() throws {
        let named = try AppConfiguration(
            parsing: Self.file, environment: ["NACRE_API_CA_FILE": "/tmp/ca.pem"], isDevelopment: true)
        #expect(named.apiAuthorities == "/tmp/ca.pem")
        let empty = try AppConfiguration(
            parsing: Self.file, environment: ["NACRE_API_CA_FILE": ""], isDevelopment: true)
        #expect(empty.apiAuthorities == nil)
    }

    @Test("NB-8: a release that is told other authorities does not start, and says which variable")
    func release() {
        let error = #expect(throws: NacreError.self) {
            try AppConfiguration(
                parsing: Self.file, environment: ["NACRE_API_CA_FILE": "/tmp/ca.pem"], isDevelopment: false)
        }
        #expect(error?.code == "configuration.authorities")
        #expect(error?.message.contains("NACRE_API_CA_FILE") == true)
    }

    @Test("A company's own authority is a file beside nacre.json, in a release too; nothing elsewhere on the disk")
    func own() throws {
        func read(_ value: String) throws -> AppConfiguration {
            let file = Self.file.replacing(
                "\"origin\": \"https", with: "\"authorities\": \"\(value)\", \"origin\": \"https")
            return try AppConfiguration(parsing: file, environment: [:], isDevelopment: false)
        }
        #expect(try read("company-ca.pem").authorities == "company-ca.pem")
        for value in ["/etc/passwd", "../ca.pem", "a/../../ca.pem"] {
            let error = #expect(throws: NacreError.self) { try read(value) }
            #expect(error?.message.contains("authorities") == true)
        }
    }
}
