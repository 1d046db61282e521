// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreDatabase
import NacreHTTP
import NacreRouting
import NacreTesting
import Testing

@testable import NacreServer

@Suite struct MetricsTests {
    private let time = ManualTime()

    private func metrics() -> ServerMetrics { ServerMetrics(version: "1.2.3", time: time) }

    private func measured(_ metrics: ServerMetrics, _ handler: @escaping Router.Handler) -> InProcessClient {
        let router = Router { routes in
            routes.get("/things/:id/", handler)
            routes.post("/things/:id/", handler)
        }
        return InProcessClient(
            MeasuringMiddleware(metrics: metrics, part: "gateway", elsewhere: { _ in "none" }, time: time)
                .wrapping(router))
    }

    @Test func `every metric is in the strict text format, with nothing counted yet`() throws {
        let text = try PrometheusText(metrics().text)
        #expect(text.value("nacre_build_info", ["version": "1.2.3"]) == 1)
        #expect((text.value("process_resident_memory_bytes") ?? 0) > 1_000_000)
        #expect((text.value("process_open_fds") ?? 0) >= 3)
        #expect((text.value("process_max_fds") ?? 0) > 0)
        #expect(text.value("process_start_time_seconds") == Double(time.now.seconds))
        #expect(Set(text.types.keys) == Set(metrics().names))
    }

    @Test func `a request is counted under the pattern of its route, the class of its status and its time`()
        async throws
    {
        let metrics = metrics()
        let time = time
        let client = measured(metrics) { request, _ in
            time.advance(by: .milliseconds(30))
            return request.method == .post ? .failure(.tooManyRequests, code: "x", message: "x") : .json([:])
        }
        for id in ["1", "2", "secret"] {
            _ = try await client.send(HTTPRequest(authority: "a", target: "/things/\(id)/?token=secret"))
        }
        _ = try await client.send(HTTPRequest(method: .post, authority: "a", target: "/things/1/"))
        _ = try await client.send(HTTPRequest(method: HTTPMethod(rawValue: "BREW"), authority: "a", target: "/nowhere"))
        let text = try PrometheusText(metrics.text)
        let route = ["part": "gateway", "route": "/things/:id/"]
        #expect(text.value("nacre_http_requests_total", route.merging(["method": "GET", "status": "2xx"]) { $1 }) == 3)
        #expect(
            text.value("nacre_http_requests_total", route.merging(["method": "POST", "status": "4xx"]) { $1 }) == 1)
        #expect(text.value("nacre_rate_limited_total", route) == 1)
        #expect(text.value("nacre_http_request_seconds_count", route) == 4)
        #expect(text.value("nacre_http_request_seconds_bucket", route.merging(["le": "0.025"]) { $1 }) == 0)
        #expect(text.value("nacre_http_request_seconds_bucket", route.merging(["le": "0.05"]) { $1 }) == 4)
        let other = ["part": "gateway", "route": "none", "method": "other", "status": "4xx"]
        #expect(text.value("nacre_http_requests_total", other) == 1)
        #expect(text.value("nacre_http_requests_in_flight", ["part": "gateway"]) == 0)
        #expect(!metrics.text.contains("secret"))
    }

    @Test func `labels fed from outside by mistake stop growing`() throws {
        let family = MetricFamily(.counter, "a_total", "A.", labels: ["x"])
        for number in 0..<3000 { family.add(1, "\(number)") }
        let text = try PrometheusText(family.text)
        #expect(text.samples.count <= MetricFamily.maximumSeries + 1)
        #expect(text.samples.map(\.value).reduce(0, +) == 3000)
        #expect((text.value("a_total", ["x": "other"]) ?? 0) >= 2000)
    }

    @Test func `a label may hold anything`() throws {
        let family = MetricFamily(.gauge, "a", "Says \"\\\" and\na line.", labels: ["x"])
        family.set(0.5, "quote \" backslash \\ line\n.")
        #expect(try PrometheusText(family.text).value("a", ["x": "quote \" backslash \\ line\n."]) == 0.5)
    }

    @Test func `an upstream's failures are counted by kind`() async throws {
        let metrics = metrics()
        for code in ["transport.unreachable", "transport.timeout", "transport.tls", "odd"] {
            let failing = MeasuringTransport(
                transport: InProcessClient(ClosureResponder { _, _ in throw NacreError(.init(rawValue: code), "No.") }),
                outcomes: metrics.upstream, durations: metrics.upstreamSeconds, time: time)
            await #expect(throws: NacreError.self) {
                _ = try await failing.send(HTTPRequest(authority: "a", target: "/"))
            }
        }
        let text = try PrometheusText(metrics.text)
        for outcome in ["unreachable", "timeout", "tls", "failed"] {
            #expect(text.value("nacre_upstream_requests_total", ["outcome": outcome]) == 1)
        }
    }

    @Test func `the database's own errors are counted, a key that is there already is none`() async throws {
        let metrics = metrics()
        let database = try Database.sqlite(path: ":memory:", time: time).measured("gateway", metrics, time: time)
        try await database.write { sql in
            try sql.execute("CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY)")
            try sql.execute("INSERT INTO t VALUES ('a')")
        }
        await #expect(throws: NacreError.self) {
            try await database.write { sql in _ = try sql.execute("INSERT INTO t VALUES ('a')") }
        }
        await #expect(throws: NacreError.self) { try await database.read { sql in _ = try sql.query("SELEC 1") } }
        let text = try PrometheusText(metrics.text)
        #expect(text.samples.filter { $0.name == "nacre_database_errors_total" }.count == 1)
        #expect(text.value("nacre_database_errors_total", ["database": "gateway", "code": "statement"]) == 1)
        #expect(text.value("nacre_database_transactions_total", ["database": "gateway", "kind": "write"]) == 2)
    }

    @Test func `events are counted whatever level is written`() throws {
        let metrics = metrics()
        let log = Log(label: "a", minimum: .error, sink: RecordingLogSink()).observed(by: metrics.observer)
            .labelled("gateway")
        log.info("exchange.done", ["session": "s"])
        log.notice("exchange.refused")
        log.info("sign_out.begun", ["session": .null])
        log.info("sign_out.begun", ["session": "s"])
        log.info("sign_out.backchannel", ["ended": 3])
        log.warning("session.not_revalidated")
        let text = try PrometheusText(metrics.text)
        #expect(text.value("nacre_handoffs_total", ["outcome": "exchanged"]) == 1)
        #expect(text.value("nacre_handoffs_total", ["outcome": "refused"]) == 1)
        #expect(text.value("nacre_sessions_begun_total", ["way": "app"]) == 1)
        #expect(text.value("nacre_sessions_ended_total", ["reason": "sign_out"]) == 1)
        #expect(text.value("nacre_sessions_ended_total", ["reason": "backchannel"]) == 3)
        #expect(text.value("nacre_log_records_total", ["level": "warning"]) == 1)
    }

    @Test func `every metric of the example dashboard exists`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..").standardized
        let dashboard = try JSONParser.parse(
            [UInt8](Data(contentsOf: root.appending(path: "packaging/grafana/nacre.json"))))
        let expressions = (dashboard["panels"]?.array ?? []).flatMap { $0["targets"]?.array ?? [] }
            .compactMap { $0["expr"]?.string }
        #expect(expressions.count > 15)
        let text = try PrometheusText(metrics().text)
        for expression in expressions {
            let names = expression.matches(of: /\b(?:nacre|process)_[a-z_]+/).map { String($0.output) }
            #expect(!names.isEmpty, "\(expression)")
            for name in names {
                let family = name.replacing(/_(bucket|sum|count)$/, with: "")
                let known = text.types[family].map { $0 == "histogram" || family == name } ?? false
                #expect(known, "\(name) in \(expression)")
            }
        }
    }
}
