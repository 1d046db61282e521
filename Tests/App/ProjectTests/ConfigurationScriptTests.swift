// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreProject
import Testing

@Suite("A configuration script is read, never run")
struct ConfigurationScriptTests {
    private static func read(_ text: String) throws(NacreError) -> ConfigurationScript {
        try ConfigurationScript(Array(text.utf8), file: "capacitor.config.ts")
    }

    private static func value(_ expression: String) throws -> ScriptValue? {
        try read("export default { v: \(expression) }").value.members?.first { $0.key == "v" }?.value
    }

    private static func code(_ text: String) -> String? {
        do throws(NacreError) {
            _ = try read(text)
            return nil
        } catch { return error.code.rawValue }
    }

    static let literals: [(String, ScriptValue)] = [
        ("'a'", .string("a")), ("\"a\"", .string("a")), ("`a b`", .string("a b")), ("`a\r\nb`", .string("a\nb")),
        ("'\\x41é\\u{1F600}\\n\\'\\\n  x'", .string("Aé😀\n'  x")), ("\"\\ud83d\\ude00\"", .string("😀")),
        (#""😀""#, .string("😀")), ("`\\${a}`", .string("${a}")),
        ("1", .integer(1)), ("-1", .integer(-1)), ("0x1F", .integer(31)), ("1_000", .integer(1000)),
        (".5", .number(0.5)), ("1.5e2", .number(150)), ("true", .bool(true)), ("null", .null), ("undefined", .null),
        ("[1, 'a', [],]", .array([.integer(1), .string("a"), .array([])])), ("('a')", .string("a")),
        (
            "{ a: 1, 'b-c': 2, 3: 4, }",
            .object([
                ScriptMember("a", .integer(1)), ScriptMember("b-c", .integer(2)), ScriptMember("3", .integer(4)),
            ])
        ),
        ("{ a: 1, a: 2 }", .object([ScriptMember("a", .integer(2))])),
        ("'a' as const", .string("a")), ("'a' satisfies string", .string("a")),
        ("['a'] as readonly string[]", .array([.string("a")])), ("{} as Record<string, Array<Foo>>", .object([])),
        ("'a' as 'a' | 'b'", .string("a")), ("'a'!", .string("a")), ("<string>'a'", .string("a")),
        ("'a' /* , 'b' */ // c\n", .string("a")), ("'' || 'b'", .string("b")), ("'a' ?? 'b'", .string("a")),
        ("'' ?? 'b'", .string("")), ("undefined ?? 'b'", .string("b")),
    ]

    @Test("Literals, comments, trailing commas, assertions of type", arguments: literals)
    func literal(text: String, value: ScriptValue) throws { #expect(try Self.value(text) == value) }

    static let environments: [(String, [String], ScriptValue?)] = [
        ("process.env.A", ["A"], nil), ("process.env['A']", ["A"], nil), ("process.env.A!", ["A"], nil),
        ("import.meta.env.A", ["A"], nil), ("process.env.A ?? 'd'", ["A"], .string("d")),
        ("process.env.A || 'd'", ["A"], .string("d")),
        ("process.env.A ?? process.env.B ?? 'd'", ["A", "B"], .string("d")),
        ("(process.env.A) ?? `d`", ["A"], .string("d")), ("process.env.A\n  ?? 'd'", ["A"], .string("d")),
        ("process.env.A as string", ["A"], nil),
    ]

    @Test("A variable of the environment, with its default", arguments: environments)
    func environment(text: String, names: [String], fallback: ScriptValue?) throws {
        #expect(try Self.value(text) == .environment(names, fallback: fallback))
    }

    static let unreadable: [(String, String, [String])] = [
        ("process.env.A === '1'", "process.env.A === '…'", ["A"]),
        ("process.env.A ? { a: 1 } : undefined", "process.env.A ? {a : 1} : undefined", ["A"]),
        ("`x${process.env.A}`", "`…`", []), ("secret('hunter2')", "secret('…')", []), ("a.b", "a.b", []),
        ("!!process.env.A", "!!process.env.A", ["A"]), ("1 + 2", "1 + 2", []), ("() => 'a'", "() => '…'", []),
        ("process.env.A.trim()", "process.env.A.trim()", ["A"]), ("/a\"[/]/g", "/…/", []), ("010", "010", []),
        ("1n", "1n", []), ("function () { return { a: [1, 2] } }", "function(){return{a : [1,2]}}", []),
        ("process.env.A ?? f('x')", "process.env.A ?? f('…')", ["A"]), ("-a", "-a", []),
    ]

    @Test("What only running it would tell is said, without the contents of its strings", arguments: unreadable)
    func code(text: String, shown: String, variables: [String]) throws {
        #expect(try Self.value(text) == .unreadable(.init(text: shown, variables: variables)))
    }

    @Test("Spreads, computed names and methods are said; what stands beside them is read")
    func parts() throws {
        let read = try Self.read(
            "const x = 1; export default { ...base, [x]: 1, m() { return {} }, get g() { return 1 }, a: x }")
        let members = try #require(read.value.members)
        #expect(members.map(\.key) == ["...base", "[x] : 1", "m", "get", "a"])
        #expect(members.last?.value == .integer(1))
        for member in members.dropLast() {
            guard case .unreadable = member.value else {
                Issue.record("\(member.key) was read")
                continue
            }
        }
    }

    static let shapes: [String] = [
        "export default { appId: 'a' }", "export default { appId: 'a' };", "export default ({ appId: 'a' })",
        "import type { CapacitorConfig } from '@capacitor/cli';\nconst config: CapacitorConfig = { appId: 'a' };\nexport default config;",
        "import { CapacitorConfig } from '@capacitor/cli'\n\nconst config: CapacitorConfig = {\n  appId: 'a'\n}\n\nexport default config",
        "const config: CapacitorConfig = { appId: 'a' }", "const config = { appId: 'a' }; module.exports = config;",
        "module.exports = { appId: 'a' }", "/// <reference types=\"@capacitor/push\" />\nexport default { appId: 'a' }",
        "export default { appId: 'a' } satisfies CapacitorConfig", "export default <CapacitorConfig>{ appId: 'a' }",
        "#!/usr/bin/env node\nmodule.exports = { appId: 'a' }", "\u{FEFF}export default { appId: 'a' }",
        "const id = 'a'\nconst config = {\n appId: id }\nexport default config",
        "const appId = `a`; export default { appId };",
        "const re = /[/\"]}/; const n = 4 / 2; export default { appId: 'a' }",
        "function f() { const config = { appId: 'b' }; return config }\nconst config = { appId: 'a' }\nexport default config",
    ]

    @Test("The object is found however it is exported", arguments: shapes)
    func found(text: String) throws {
        let read = try Self.read(text)
        #expect(read.value.members?.first { $0.key == "appId" }?.value == .string("a"))
    }

    @Test("Code that goes on with the configuration is said, with its line")
    func changed() throws {
        let read = try Self.read(
            "const config: CapacitorConfig = { appId: 'a' }\nif (process.env.A) {\n  config.server = { url: 'x' }\n}\nexport default config"
        )
        #expect(read.laterChanges == ["line 3: config.server = {"])
        let wrapped = try Self.read("const config: CapacitorConfig = { appId: 'a' }\nexport default withMore(config)")
        #expect(wrapped.value.members?.count == 1)
        #expect(wrapped.laterChanges == ["line 2: export default withMore(config)"])
        #expect(try Self.read(Self.shapes[3]).laterChanges == [])
    }

    static let faults: [(String, String)] = [
        ("", "init.no_configuration"), ("export default 1", "init.no_configuration"),
        ("export default f()", "init.no_configuration"), ("export default { a: 'x }", "init.script"),
        ("export default { a: ", "init.script"), ("export default { a: }", "init.script"),
        ("export default { a: 1", "init.script"), ("export default { a: [1 }", "init.script"),
        ("export default { a: `x", "init.script"), ("export default { a: `${`${x", "init.script"),
        ("export default { a: (1] }", "init.script"), ("/* ", "init.script"),
        ("export default { a: '\\u12' }", "init.script"),
        ("export default { a: '\\ud83d' }", "init.script"), ("export default { a: '\\07' }", "init.script"),
        ("export default { a: 1 as }", "init.script"), ("const a = a; export default { b: a, c: a", "init.script"),
        ("export default { a: \u{1}1 }", "init.script"),
    ]

    @Test("A broken script is an error that names the line", arguments: faults)
    func fault(text: String, code: String) { #expect(Self.code(text) == code) }

    @Test("Bytes that are not UTF-8 and files beyond 1 MiB are refused")
    func bytes() {
        #expect(throws: NacreError.self) { try ConfigurationScript([0xFF], file: "a") }
        #expect(Self.code("export default {} //" + String(repeating: "x", count: 1 << 20)) == "init.script")
    }

    @Test("Nesting ends at a depth")
    func depth() {
        let deep = String(repeating: "[", count: 5000) + String(repeating: "]", count: 5000)
        #expect(Self.code("export default { a: \(deep) }") == "init.script")
        // Each constant alone is shallow; one inside the other they are not.
        var text = "const c0 = [[[[[[[[[[1]]]]]]]]]];"
        for index in 1...40 { text += "const c\(index) = [[[[[c\(index - 1)]]]]];" }
        #expect(Self.code(text + "export default { a: c0, b: c20, c: c40 }") == "init.script")
    }

    @Test("Templates end at a depth")
    func templates() {
        let deep = String(repeating: "`${", count: 3000) + String(repeating: "}`", count: 3000)
        #expect(Self.code("export default { a: \(deep) }") == "init.script")
    }

    @Test("Constants that double each other are refused")
    func laughs() {
        var text = "const c0 = ['ha','ha'];"
        for index in 1...30 { text += "const c\(index) = [c\(index - 1), c\(index - 1)];" }
        #expect(Self.code(text + "export default { a: c30 }") == "init.script")
    }

    @Test("A constant that is made of itself is not read")
    func cycle() throws {
        let read = try Self.read("const a = [b]; const b = [a]; export default { v: a }")
        #expect(read.value.members?.count == 1)
    }
}
