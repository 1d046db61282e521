// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreProvider
import NacreServer
import Testing

@Suite("PV-1, PV-2: the embedded provider's settings")
struct ProviderSettingsTests {
    private static let secret = "a-secret-of-the-agenda-1"

    private func read(_ provider: String, _ oidc: String = "{}", variables: [String: String] = [:]) throws
        -> ServerConfiguration
    {
        let environment = [
            "NACRE_ORIGIN": "https://mail.example.org", "NACRE_DATA": "/var/lib/nacre", "SHORT": "short",
        ].merging(variables) { $1 }
        return try ServerConfiguration(
            json: try JSONParser.parse(
                #"{"oidc":"# + oidc + #","provider":{"enabled":true,"issuer":"https://id.example.org""#
                    + (provider == "{}" ? "" : ",") + provider.dropFirst() + "}"),
            file: "conf/nacre.server.json", environment: environment
        ) { path in
            switch path {
            case "conf/agenda.secret": return Self.secret + "\n"
            case "conf/short": return "short\n"
            default: throw NacreError("test.file", "There is no \(path).")
            }
        }
    }

    @Test("PV-1: confidential and public clients, with all that a client may say")
    func clients() throws {
        let configuration = try read(
            #"""
            {"clients":[
              {"id":"agenda","name":"Agenda","secretFile":"agenda.secret","redirectURIs":["https://agenda.example.org/cb"],
               "postLogoutRedirectURIs":["https://agenda.example.org/bye"],
               "backchannelLogoutURI":"https://agenda.example.org/backchannel","idTokenAlgorithm":"RS256"},
              {"id":"files","secretVariable":"FILES_SECRET","redirectURIs":["https://files.example.org/cb"]},
              {"id":"native","public":true,"redirectURIs":["http://127.0.0.1/cb","org.example.native:/cb"]}]}
            """#, variables: ["FILES_SECRET": "a-secret-of-the-files-12"])
        let clients = configuration.provider.clients
        #expect(clients.map(\.id) == ["agenda", "files", "native"])
        #expect(clients.map(\.secret) == [Self.secret, "a-secret-of-the-files-12", nil])
        #expect(clients.map(\.name) == ["Agenda", "files", "native"])
        #expect(clients.map(\.idTokenAlgorithm) == [.rs256, .es256, .es256])
        #expect(clients[0].redirectURIs == ["https://agenda.example.org/cb"])
        #expect(clients[0].postLogoutRedirectURIs == ["https://agenda.example.org/bye"])
        #expect(clients[0].backchannelLogoutURI == "https://agenda.example.org/backchannel")
        #expect(clients[2].redirectURIs == ["http://127.0.0.1/cb", "org.example.native:/cb"])
    }

    @Test("PV-2: the acr map is a setting; eidas1 and eidas2 without one")
    func levels() throws {
        #expect(try read("{}").provider.levels.map(\.name) == ["eidas1", "eidas2"])
        let levels = try read(
            #"{"levels":[{"acr":"low","factors":["password"]},{"acr":"high","factors":["password","oneTimeCode"]}]}"#
        ).provider.levels
        #expect(levels.map(\.name) == ["low", "high"])
        #expect(levels.map(\.factors) == [[.password], [.password, .oneTimeCode]])
    }

    @Test(
        "a wrong client or level stops the start with a sentence that names it",
        arguments: [
            (#"{"clients":{}}"#, "\"provider.clients\" must be a list"),
            (#"{"clients":["agenda"]}"#, "\"provider.clients[0]\" must be a JSON object"),
            (
                #"{"clients":[{"public":true,"redirectURIs":["https://a/cb"]}]}"#,
                "\"provider.clients[0].id\" is missing"
            ),
            (#"{"clients":[{"id":"nacre","public":true,"redirectURIs":["https://a/cb"]}]}"#, "the gateway's own"),
            (
                #"{"clients":[{"id":"a","public":true,"redirectURIs":["https://a/cb"]},{"id":"a","public":true,"redirectURIs":["https://a/cb"]}]}"#,
                "\"provider.clients[1].id\" stands twice"
            ),
            (#"{"clients":[{"id":"a","redirectURIs":["https://a/cb"]}]}"#, "\"secretVariable\" or \"public\""),
            (
                #"{"clients":[{"id":"a","public":true,"secretFile":"agenda.secret","redirectURIs":["https://a/cb"]}]}"#,
                "one of them"
            ),
            (#"{"clients":[{"id":"a","public":false,"redirectURIs":["https://a/cb"]}]}"#, "one of them"),
            (#"{"clients":[{"id":"a","public":true}]}"#, "\"provider.clients[0].redirectURIs\" is missing"),
            (#"{"clients":[{"id":"a","public":true,"redirectURIs":["/cb"]}]}"#, "not an absolute URI"),
            (#"{"clients":[{"id":"a b","public":true,"redirectURIs":["https://a/cb"]}]}"#, "visible ASCII"),
            (
                #"{"clients":[{"id":"a","public":true,"redirectURIs":["https://a/cb"],"backchannelLogoutURI":"http://a/b"}]}"#,
                "neither https nor on this machine"
            ),
            (
                #"{"clients":[{"id":"a","public":true,"redirectURIs":["https://a/cb"],"idTokenAlgorithm":"HS256"}]}"#,
                "must be ES256 or RS256"
            ),
            (#"{"clients":[{"id":"a","secretFile":"gone","redirectURIs":["https://a/cb"]}]}"#, "conf/gone"),
            (#"{"clients":[{"id":"a","secretFile":"short","redirectURIs":["https://a/cb"]}]}"#, "less than 16"),
            (#"{"clients":[{"id":"a","secretVariable":"SHORT","redirectURIs":["https://a/cb"]}]}"#, "less than 16"),
            (
                #"{"clients":[{"id":"a","secretVariable":"GONE","redirectURIs":["https://a/cb"]}]}"#,
                "GONE, which is not set"
            ),
            (
                #"{"clients":[{"id":"a","public":true,"redirectURIs":["https://a/cb"],"redirectURI":"x"}]}"#,
                "Did you mean \"redirectURIs\""
            ),
            // A secret has no place in the file that everybody may read.
            (
                #"{"clients":[{"id":"a","secret":"a-secret-of-the-agenda-1","redirectURIs":["https://a/cb"],"public":true}]}"#,
                "\"provider.clients[0].secret\" is not a setting"
            ),
            (#"{"levels":[]}"#, "must begin with a level that takes a password alone"),
            (#"{"levels":[{"acr":"a","factors":["oneTimeCode"]}]}"#, "must begin with a level"),
            (#"{"levels":[{"acr":"a","factors":[]}]}"#, "\"provider.levels[0].factors\" is missing or empty"),
            (#"{"levels":[{"acr":"a"}]}"#, "\"provider.levels[0].factors\" is missing or empty"),
            (#"{"levels":[{"acr":"a","factors":["passkey"]}]}"#, "has \"passkey\""),
            (#"{"levels":[{"acr":"a b","factors":["password"]}]}"#, "\"provider.levels[0].acr\""),
            (
                #"{"levels":[{"acr":"a","factors":["password"]},{"acr":"a","factors":["password"]}]}"#,
                "\"provider.levels[1].acr\" stands twice"
            ),
        ])
    func wrong(provider: String, sentence: String) throws {
        let error = #expect(throws: NacreError.self) { _ = try read(provider) }
        #expect(error?.message.contains(sentence) == true, "\(error?.message ?? "")")
        #expect(error?.description.contains(Self.secret) == false)
    }

    @Test("PV-1: the gateway's own tokens are signed as oidc.signAlgorithm says, where the provider has such keys")
    func ownAlgorithm() throws {
        #expect(try read("{}", #"{"signAlgorithm":"RS256"}"#).openID.signAlgorithm == "RS256")
        let error = #expect(throws: NacreError.self) { _ = try read("{}", #"{"signAlgorithm":"EdDSA"}"#) }
        #expect(error?.message.contains("\"oidc.signAlgorithm\"") == true)
    }
}
