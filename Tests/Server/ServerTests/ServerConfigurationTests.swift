// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreGateway
import NacreHTTP
import NacreSessions
import Testing

@testable import NacreServer

@Suite struct ServerConfigurationTests {
    private static let production: [String: String] = [
        "NACRE_ORIGIN": "https://mail.example.org", "NACRE_DATA": "/var/lib/nacre",
        "OIDC_OP_URL": "https://auth.example.org", "OIDC_RP_CLIENT_ID": "messages",
    ]

    private func read(
        _ json: String = "{}", _ environment: [String: String], files: [String: String] = [:]
    ) throws -> ServerConfiguration {
        try ServerConfiguration(
            json: try JSONParser.parse(json), file: "conf/nacre.server.json", environment: environment
        ) { path in
            guard let text = files[path] else { throw NacreError("test.file", "There is no \(path).") }
            return text
        }
    }

    @Test func `development needs no setting at all`() throws {
        let configuration = try read("{}", ["NACRE_ENV": "development"])
        #expect(configuration.origin.description == "http://localhost:8901")
        #expect(configuration.listen == .init(port: 8901))
        #expect(configuration.provider.enabled)
        #expect(configuration.provider.issuer == "http://localhost:8902")
        #expect(configuration.schemes == ["stmessages"])
        #expect(configuration.data == ".nacre")
    }

    @Test("HO-14: claimed links and their apps come from the file or the environment, and must be the gateway's own")
    func claimedLinks() throws {
        let print = Array(repeating: "0A", count: 32).joined(separator: ":")
        let fromFile = try read(
            #"{"mobile":{"schemes":["stmessages"],"links":{"stmessages":"https://mail.example.org/app"},"appleApps":["A1B2C3D4E5.org.example.app"],"androidApps":{"org.example.app":[""#
                + print + #""]}},"oidc":{"untypedLogoutTokens":true}}"#, Self.production)
        #expect(fromFile.links == ["stmessages": "https://mail.example.org/app"])
        #expect(fromFile.appleApps == ["A1B2C3D4E5.org.example.app"])
        #expect(fromFile.androidApps == ["org.example.app": [print]])
        #expect(fromFile.openID.untypedLogoutTokens)
        let variables = Self.production.merging([
            "MOBILE_AUTH_CALLBACK_SCHEMES": #"["stmessages"]"#,
            "MOBILE_AUTH_CALLBACK_LINKS": #"{"stmessages":"https://mail.example.org/a"}"#,
            "MOBILE_APPLE_APP_IDS": #"["A1B2C3D4E5.org.example.app"]"#,
            "MOBILE_ANDROID_APPS": #"{"org.example.app":[""# + print + #""]}"#,
        ]) { $1 }
        let configuration = try read("{}", variables)
        #expect(configuration.links == ["stmessages": "https://mail.example.org/a"])
        #expect(configuration.androidApps == ["org.example.app": [print]])
        for wrong in [
            ["MOBILE_AUTH_CALLBACK_LINKS": #"{"stmessages":"https://elsewhere.example.org/a"}"#],
            ["MOBILE_AUTH_CALLBACK_LINKS": #"{"other":"https://mail.example.org/a"}"#],
            ["MOBILE_AUTH_CALLBACK_LINKS": "[]"], ["MOBILE_APPLE_APP_IDS": #"["org.example.app"]"#],
            ["MOBILE_ANDROID_APPS": #"{"org.example.app":"AB"}"#],
            ["MOBILE_ANDROID_APPS": #"{"org.example.app":["AB"]}"#],
        ] {
            #expect(throws: NacreError.self) { _ = try read("{}", variables.merging(wrong) { $1 }) }
        }
    }

    @Test func `production has no scheme, no embedded provider and the documented defaults`() throws {
        let configuration = try read("{}", Self.production)
        #expect(!configuration.isDevelopment && !configuration.provider.enabled)
        #expect(configuration.schemes.isEmpty)
        #expect(configuration.tokenLifetime == .seconds(60))
        #expect(configuration.cookieAge == .seconds(2_592_000))
        #expect(configuration.revalidateAge == .seconds(43_200))
        #expect(configuration.graceAge == .seconds(86_400))
        #expect(configuration.sessionsPerPerson == 100)
        #expect(configuration.exchangesPerMinute == 20)
        #expect(configuration.openID.scopes == ["openid", "email", "profile"])
    }

    @Test func `the environment of the source systems works under its own names and wins over the file`() throws {
        let environment = Self.production.merging([
            "MOBILE_AUTH_CALLBACK_SCHEMES": #"["stmessages","stcalendar"]"#, "MOBILE_AUTH_TOKEN_TTL": "30",
            "OIDC_RP_CLIENT_SECRET": "s3cret", "OIDC_RP_SCOPES": "openid email", "OIDC_RP_SIGN_ALGO": "RS256",
            "OIDC_AUTH_REQUEST_EXTRA_PARAMS": #"{"acr_values":"eidas1"}"#, "SESSION_COOKIE_AGE": "3600",
            "SESSION_REVALIDATE_AGE": "600", "SESSION_MAX_PER_PERSON": "7",
            "MOBILE_OTA_MANIFEST_URL": "https://updates.example.org/m.json",
        ]) { $1 }
        let configuration = try read(
            #"{"sessions":{"perPerson":9},"mobile":{"schemes":["other"],"tokenTTL":45},"oidc":{"clientID":"file","extraParameters":{"a":"b"}}}"#,
            environment)
        #expect(configuration.schemes == ["stmessages", "stcalendar"])
        #expect(configuration.tokenLifetime == .seconds(30))
        #expect(configuration.openID.clientID == "messages")
        #expect(configuration.openID.clientSecret == "s3cret")
        #expect(configuration.openID.scopes == ["openid", "email"])
        #expect(configuration.openID.signAlgorithm == "RS256")
        #expect(configuration.openID.extraParameters == ["acr_values": "eidas1"])
        #expect(configuration.cookieAge == .seconds(3600))
        #expect(configuration.revalidateAge == .seconds(600))
        #expect(configuration.gateway.sessions.perPerson == 7)
        #expect(try read(#"{"sessions":{"perPerson":9}}"#, Self.production).sessionsPerPerson == 9)
        #expect(configuration.updateManifest == "https://updates.example.org/m.json")
    }

    @Test func `a database is a file or a URL, and may stand in a file because it holds a password`() throws {
        #expect(try read("{}", Self.production).database == nil)
        #expect(try read(#"{"database":"db/nacre.sqlite"}"#, Self.production).database == "conf/db/nacre.sqlite")
        let url = "postgres://nacre:s3cret@db.example.org/nacre"
        let environment = Self.production.merging(["NACRE_DATABASE": url]) { $1 }
        #expect(try read(#"{"database":"ignored"}"#, environment).database == url)
        let file = try read(
            #"{"databaseFile":"db.url","secretFile":"key"}"#, Self.production,
            files: ["conf/db.url": url + "\n", "conf/key": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8\n"])
        #expect(file.database == url)
        #expect(file.secret == "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8")
    }

    @Test(
        "A place that is neither, a missing file and a secret that is none stop the start, without being repeated",
        arguments: [
            (["NACRE_DATABASE": "mysql://u:s3cret@h/d"], "database"),
            (["NACRE_DATABASE_FILE": "/gone/s"], "NACRE_DATABASE_FILE"),
            (["NACRE_SECRET": "s3cret"], "NACRE_SECRET"),
        ])
    func badDatabase(environment: [String: String], named: String) {
        let error = #expect(throws: NacreError.self) {
            _ = try read("{}", Self.production.merging(environment) { $1 })
        }
        #expect(error?.message.contains(named) == true)
        #expect(error?.description.contains("s3cret") == false)
    }

    @Test func `paths in the file are relative to the file; a secret can stand in one`() throws {
        let configuration = try read(
            #"{"data":"state","web":{"path":"dist"},"oidc":{"clientSecretFile":"secret.txt"},"upstream":"http://127.0.0.1:8000"}"#,
            Self.production.filter { $0.key != "NACRE_DATA" }, files: ["conf/secret.txt": "from-a-file\n"])
        #expect(configuration.data == "conf/state")
        #expect(configuration.webPath == "conf/dist")
        #expect(configuration.openID.clientSecret == "from-a-file")
        #expect(configuration.upstream?.origin.description == "http://127.0.0.1:8000")
        #expect(configuration.upstream?.prefixes == ["/api/"])
    }

    @Test(
        "a wrong setting in the file stops the start with a sentence that names it",
        arguments: [
            (#"{"orign":"x"}"#, "\"orign\" is not a setting. Did you mean \"origin\"?"),
            (#"{"listen":{"prot":1}}"#, "\"listen.prot\""), (#"{"listen":{"port":70000}}"#, "\"listen.port\""),
            (#"{"listen":{"port":"80"}}"#, "\"listen.port\""),
            (#"{"listen":{"tls":{"key":"k"}}}"#, "\"listen.tls.certificate\""),
            (#"{"upstream":"127.0.0.1:8000"}"#, "\"upstream\""), (#"{"upstream":{}}"#, "\"upstream.origin\""),
            (#"{"upstream":{"origin":"http://a/b"}}"#, "\"upstream.origin\""),
            (#"{"upstream":{"origin":"http://a","prefixes":["api"]}}"#, "\"upstream.prefixes\""),
            (#"{"mobile":{"schemes":["st_messages"]}}"#, "\"mobile.schemes\""),
            (#"{"mobile":{"schemes":["STMessages"]}}"#, "MOBILE_AUTH_CALLBACK_SCHEMES"),
            (#"{"mobile":{"tokenTTL":1}}"#, "\"mobile.tokenTTL\""),
            (#"{"oidc":{"signAlgorithm":"none"}}"#, "\"oidc.signAlgorithm\""),
            (#"{"oidc":{"signAlgorithm":"HS256","clientSecret":"short"}}"#, "at least 32"),
            (#"{"oidc":{"extraParameters":{"state":"x"}}}"#, "must not set state"),
            (#"{"oidc":{"clientAuthentication":"jwt"}}"#, "\"oidc.clientAuthentication\""),
            (#"{"oidc":{"clientSecretFile":"missing"}}"#, "conf/missing"),
            (#"{"web":{"origins":["x"]}}"#, "\"web.origins\""),
            (#"{"upstream":{"origin":"http://a","csrf":"express"}}"#, "\"upstream.csrf\""),
            (#"{"upstream":{"origin":"http://a","maximumLive":-1}}"#, "\"upstream.maximumLive\""),
            (#"{"upstream":{"origin":"http://a","stal":1}}"#, "Did you mean"),
            (#"{"identity":{"keyAge":1}}"#, "\"identity.keyAge\""),
            (#"{"trustedProxies":["10.0.0.0/40"]}"#, "\"10.0.0.0/40\", which is no address"),
            (#"{"sessions":{"cookieAge":1}}"#, "\"sessions.cookieAge\""),
            (#"{"sessions":{"perPerson":0}}"#, "\"sessions.perPerson\""),
            (#"{"log":{"level":"loud"}}"#, "\"log.level\""),
            (#"{"provider":{"enabled":true}}"#, "\"provider.enabled\""),
            (#"{"updates":{"manifest":"x"}}"#, "\"updates.manifest\""),
            (#"[]"#, "must be a JSON object"),
        ])
    func wrongFile(json: String, sentence: String) throws {
        let error = #expect(throws: NacreError.self) { _ = try read(json, Self.production) }
        #expect(error?.message.contains(sentence) == true, "\(error?.message ?? "")")
    }

    @Test(
        "a wrong variable stops the start with a sentence that names it, without its value",
        arguments: [
            ("NACRE_ENV", "staging"), ("MOBILE_AUTH_CALLBACK_SCHEMES", "stmessages"),
            ("MOBILE_AUTH_CALLBACK_SCHEMES", "[1]"),
            ("MOBILE_AUTH_TOKEN_TTL", "soon"), ("MOBILE_AUTH_TOKEN_TTL", "99999"), ("SESSION_COOKIE_AGE", "-1"),
            ("SESSION_REVALIDATE_AGE", "12h"), ("SESSION_MAX_PER_PERSON", "0"), ("SESSION_MAX_PER_PERSON", "many"),
            ("OIDC_AUTH_REQUEST_EXTRA_PARAMS", "acr_values=eidas1"),
            ("OIDC_AUTH_REQUEST_EXTRA_PARAMS", #"{"max_age":60}"#), ("OIDC_RP_SIGN_ALGO", "none"),
            ("OIDC_RP_CLIENT_SECRET_FILE", "/nowhere"), ("OIDC_OP_URL", "http://auth.example.org"),
            ("OIDC_OP_URL", "auth"),
        ])
    func wrongVariable(name: String, value: String) throws {
        let error = #expect(throws: NacreError.self) {
            _ = try read("{}", Self.production.merging([name: value]) { $1 })
        }
        #expect(error?.message.contains(name) == true, "\(error?.message ?? "")")
    }

    @Test(
        "what production cannot do without is asked for by name",
        arguments: [
            ("NACRE_ORIGIN", "\"origin\""), ("NACRE_DATA", "\"data\""), ("OIDC_OP_URL", "\"oidc.issuer\""),
            ("OIDC_RP_CLIENT_ID", "\"oidc.clientID\""),
        ])
    func missing(name: String, sentence: String) throws {
        let error = #expect(throws: NacreError.self) {
            _ = try read("{}", Self.production.filter { $0.key != name })
        }
        #expect(error?.message.contains(sentence) == true)
    }

    @Test func `session cookies never travel in the clear, except on this machine`() throws {
        var environment = Self.production
        environment["NACRE_ORIGIN"] = "http://mail.example.org"
        #expect(throws: NacreError.self) { _ = try read("{}", environment) }
        environment["NACRE_ORIGIN"] = "http://127.0.0.1:9000"
        #expect(try read("{}", environment).listen.port == 9000)
    }

    @Test func `a variable that looks like a misspelled setting is pointed out`() {
        let sentences = ServerConfiguration.misspelled(in: [
            "OIDC_RP_CLIENT_IDD": "x", "PATH": "/bin", "MOBILE_AUTH_CALLBACK_SCHEME": "[]", "NACRE_ENV": "production",
        ])
        #expect(sentences.count == 2)
        #expect(sentences[1].contains("OIDC_RP_CLIENT_ID?"))
    }

    @Test func `metrics are off unless asked for, and never on a public port`() throws {
        #expect(try read("{}", Self.production).metrics == nil)
        #expect(
            try read(#"{"metrics":{"listen":{"port":8909}}}"#, Self.production).metrics
                == .init(host: "127.0.0.1", port: 8909))
        for json in [
            #"{"metrics":{"listen":{"port":8901}}}"#, #"{"metrics":{}}"#, #"{"metrics":{"listen":{"prot":1}}}"#,
        ] {
            #expect(throws: NacreError.self, "\(json)") { _ = try read(json, Self.production) }
        }
    }

    @Test func `limits on connections and bodies have defaults, can be changed, and can be switched off`() throws {
        let plain = try read("{}", Self.production)
        #expect(plain.connectionsPerClient == 512 && plain.bodyRate == 240 && plain.silentPerMinute == 60)
        #expect(plain.bodyWindow == .seconds(60))
        let set = try read(
            #"{"limits":{"connectionsPerClient":0,"bodyRate":0,"bodyWindow":5,"silentPerMinute":7}}"#, Self.production)
        #expect(set.connectionsPerClient == 0 && set.bodyRate == 0 && set.silentPerMinute == 7)
        #expect(set.bodyWindow == .seconds(5))
        for json in [
            #"{"limits":{"connectionsPerClient":-1}}"#, #"{"limits":{"bodyWindow":0}}"#,
            #"{"limits":{"silentPerMinute":0}}"#, #"{"limits":{"bodyRate":"fast"}}"#,
        ] {
            #expect(throws: NacreError.self, "\(json)") { _ = try read(json, Self.production) }
        }
    }
}
