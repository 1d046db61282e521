// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreBridge
import NacreCore
import NacrePlugins
import Testing

@testable import NacreApp

/// NB-9: the contract, message by message. The same traces run in the real shell by `scripts/journey bridge`.
@Suite("Golden traces of the bridge")
struct BridgeConformanceTests {
    @Test("NB-9: every row of the trace", arguments: BridgeTrace.all.map(\.name))
    func trace(_ name: String) async throws {
        let trace = try #require(BridgeTrace.all.first { $0.name == name })
        #expect(!trace.rows.isEmpty)
        let host = try await BridgeHost()
        for (index, row) in trace.rows.enumerated() {
            let fault = try await host.play(row, plugin: trace.plugin)
            #expect(fault == nil, "\(trace.plugin) row \(index): \(row.text)")
        }
    }

    @Test("NB-9: every method that is registered has a row, and a row of something else rejects")
    func covered() async throws {
        let host = try await BridgeHost()
        var calls: Set<String> = []
        var refused: Set<String> = []
        for trace in BridgeTrace.all {
            for row in trace.rows {
                guard let method = row["call"]?.string else { continue }
                let name = (row["plugin"]?.string ?? trace.plugin) + "." + method
                if row["reject"] == "UNIMPLEMENTED" { refused.insert(name) } else { calls.insert(name) }
            }
        }
        let registered = Set(
            host.parts.everyPlugin.flatMap { plugin in plugin.methods.map { plugin.name + "." + $0.name } })
        #expect(registered.subtracting(calls).isEmpty)
        #expect(refused.isDisjoint(with: registered))
    }
}

/// docs/compatibility.md against what is registered.
@Suite("The compatibility table")
struct CompatibilityTests {
    private struct Row { let name, state: String }

    private func rows() throws -> [Row] {
        let file = BridgeTrace.root + "/docs/compatibility.md"
        let text = String(decoding: try #require(FileManager.default.contents(atPath: file)), as: UTF8.self)
        var rows: [Row] = []
        for line in text.split(separator: "\n") where line.hasPrefix("| `") {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count >= 2 else { continue }
            rows.append(Row(name: cells[0].replacingOccurrences(of: "`", with: ""), state: cells[1]))
        }
        return rows
    }

    @Test("NB-9: each registered method stands there as done or no-op, and nothing else does")
    func registered() async throws {
        let host = try await BridgeHost()
        let rows = try rows()
        let answering = rows.filter { $0.state == "done" || $0.state == "no-op" }.map(\.name)
        let registered = host.parts.everyPlugin.flatMap { plugin in plugin.methods.map { plugin.name + "." + $0.name } }
        #expect(Set(answering) == Set(registered))
        #expect(answering.count == Set(answering).count)
        #expect(rows.allSatisfy { ["done", "no-op", "refused"].contains($0.state) })
    }

    @Test("NB-9: what is refused has a trace that sees the refusal")
    func refused() throws {
        var seen: Set<String> = []
        for trace in BridgeTrace.all {
            for row in trace.rows where row["reject"] == "UNIMPLEMENTED" {
                seen.insert(trace.plugin + "." + (row["call"]?.string ?? ""))
            }
        }
        let refused = Set(try rows().filter { $0.state == "refused" }.map(\.name))
        #expect(refused.subtracting(seen).isEmpty)
    }
}
