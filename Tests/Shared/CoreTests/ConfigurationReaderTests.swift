// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import Testing

@Suite("Configuration reader")
struct ConfigurationReaderTests {
    private func read(_ text: String) throws -> String {
        var reader = try ConfigurationReader(JSONParser.parse(text), file: "nacre.json")
        var app = try #require(try reader.object("app"))
        let id = try app.requiredString("id", example: "org.example.app")
        _ = try app.integer("port", in: 1...65535)
        try app.finish()
        try reader.finish()
        return id
    }

    @Test("Declared keys are read")
    func plain() throws { #expect(try read(#"{"app":{"id":"a.b","port":80}}"#) == "a.b") }

    @Test(
        "A wrong setting names itself and says what to do",
        arguments: [
            (#"{"app":{"id":"a","prot":80}}"#, #""app.prot" is not a setting. Did you mean "port"?"#),
            (#"{"app":{}}"#, #""app.id" is missing; write for example "org.example.app"."#),
            (#"{"app":{"id":"a","port":70000}}"#, #""app.port" must be a whole number from 1 to 65535."#),
            (#"{"app":{"id":"a","port":"80"}}"#, #""app.port" must be a whole number"#),
            (#"{"app":{"id":7}}"#, #""app.id" must be a string."#),
            (#"{"app":{"id":"a"},"extra":1}"#, #""extra" is not a setting."#),
            (#"{"app":[]}"#, #""app" must be a JSON object."#),
        ])
    func faults(text: String, message: String) {
        let error = #expect(throws: NacreError.self) { try read(text) }
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
    }
}

@Suite("Redaction")
struct RedactionTests {
    @Test(
        "Secrets leave URLs",
        arguments: [
            ("stmessages://auth?token=abc&flow=x", "stmessages://auth?token=[redacted]&flow=[redacted]"),
            ("https://h/cb?code=1&state=2&lang=fr", "https://h/cb?code=[redacted]&state=[redacted]&lang=fr"),
            ("https://user:pw@h/x", "https://[redacted]@h/x"), ("plain text", "plain text"),
            ("https://h/a?next=/b", "https://h/a?next=/b"),
        ])
    func urls(text: String, cleaned: String) { #expect(Redaction.url(text) == cleaned) }

    @Test(
        "Names are found inside longer ones, whatever their case or letters",
        arguments: [
            ("X-CSRFToken", true), ("API_KEY", true), ("my\u{e9}Password", true), ("to\u{212A}en", true),
            ("sessionID", true), ("tok", false), ("", false), ("milliseconds", false), ("path", false),
        ])
    func names(name: String, isSecret: Bool) { #expect(Redaction.isSecret(name: name) == isSecret) }

    @Test("Fields with secret names are replaced before a sink sees them")
    func fields() {
        let sink = Sink()
        let log = Log(label: "t", sink: sink)
        log.info(
            "x", ["csrf_token": "s3cret", "nested": ["password": "pw", "ok": "yes"], "url": "https://h/?token=t"])
        let line = sink.lines.first ?? ""
        #expect(!line.contains("s3cret") && !line.contains("pw\"") && !line.contains("token=t"))
        #expect(line.contains("yes"))
    }
}

private final class Sink: LogSink {
    private let kept = MutexBox()
    var lines: [String] { kept.values }
    func write(_ record: LogRecord) { kept.append(record.line) }
}
