// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore

/// Everything the server half counts. Names are part of the interface: dashboards and alerts hang on them.
final class ServerMetrics: Sendable {
    private static let seconds = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

    let requests = MetricFamily(
        .counter, "nacre_http_requests_total", "Requests answered, by part, route pattern, method and class of status.",
        labels: ["part", "route", "method", "status"])
    let requestSeconds = MetricFamily(
        .histogram, "nacre_http_request_seconds", "Time until the head of the answer, by part and route pattern.",
        labels: ["part", "route"], bounds: seconds)
    let inFlight = MetricFamily(
        .gauge, "nacre_http_requests_in_flight", "Requests whose answer has not begun yet.", labels: ["part"])
    let clientsGone = MetricFamily(
        .counter, "nacre_http_clients_gone_total", "Requests whose client left before the answer.", labels: ["part"])
    let rateLimited = MetricFamily(
        .counter, "nacre_rate_limited_total", "Requests answered 429, by part and route pattern.",
        labels: ["part", "route"])
    let signIns = MetricFamily(
        .counter, "nacre_sign_ins_total",
        "Round trips to the identity provider that ended: done, handed_off, refused, failed, cannot_start, unknown.",
        labels: ["outcome"])
    let handOffs = MetricFamily(
        .counter, "nacre_handoffs_total", "One-time tokens: issued, exchanged, refused.", labels: ["outcome"])
    let sessionsBegun = MetricFamily(
        .counter, "nacre_sessions_begun_total", "Sessions begun, by way: web or app.", labels: ["way"])
    let sessionsEnded = MetricFamily(
        .counter, "nacre_sessions_ended_total",
        "Sessions ended, by reason: sign_out, backchannel, refused, other_person, reused, by_person, expired.",
        labels: ["reason"])
    let logins = MetricFamily(
        .counter, "nacre_logins_total", "Passwords tried at the embedded provider: done, refused, throttled.",
        labels: ["outcome"])
    let revalidations = MetricFamily(
        .counter, "nacre_session_revalidations_total",
        "Sessions asked about at the provider: renewed, refused, unreachable.",
        labels: ["outcome"])
    let upstream = MetricFamily(
        .counter, "nacre_upstream_requests_total", "Requests passed to the upstream, by class of status or by failure.",
        labels: ["outcome"])
    let upstreamSeconds = MetricFamily(
        .histogram, "nacre_upstream_request_seconds", "Time until the head of the upstream's answer.", bounds: seconds)
    let idp = MetricFamily(
        .counter, "nacre_idp_requests_total", "Requests to the identity provider, by class of status or by failure.",
        labels: ["outcome"])
    let idpSeconds = MetricFamily(
        .histogram, "nacre_idp_request_seconds", "Time until the head of the identity provider's answer.",
        bounds: seconds)
    let transactions = MetricFamily(
        .counter, "nacre_database_transactions_total", "Transactions begun, by database and kind.",
        labels: ["database", "kind"])
    let databaseErrors = MetricFamily(
        .counter, "nacre_database_errors_total", "Transactions that failed, by database and error code.",
        labels: ["database", "code"])
    let logRecords = MetricFamily(
        .counter, "nacre_log_records_total", "Log records at level warning and error, written or not.",
        labels: ["level"])
    let retention = MetricFamily(
        .counter, "nacre_retention_removed_total", "Rows removed because they had expired, by table.",
        labels: ["table"])
    let build = MetricFamily(
        .gauge, "nacre_build_info", "Always 1; the label says which version runs.", labels: ["version"])
    private let process: ProcessMetrics

    init(version: String, time: any TimeSource) {
        process = ProcessMetrics(started: time.now)
        build.set(1, version)
    }

    private var families: [MetricFamily] {
        [
            requests, requestSeconds, inFlight, clientsGone, rateLimited, signIns, handOffs, sessionsBegun,
            sessionsEnded, logins, revalidations, upstream, upstreamSeconds, idp, idpSeconds, transactions,
            databaseErrors,
            logRecords, retention, build,
        ]
    }

    /// The name of every family, of the process too.
    var names: [String] { families.map(\.name) + process.read().map(\.name) }

    /// All of it in the text format.
    var text: String { (families + process.read()).map(\.text).joined() }

    /// What an event of the log adds to: a family, and the label of the one.
    private typealias Count = (family: any KeyPath<ServerMetrics, MetricFamily> & Sendable, label: String)

    /// Events that count one. Event names are stable.
    private static let single: [String: [Count]] = [
        "sign_in.done": [(\.signIns, "done"), (\.sessionsBegun, "web")],
        "sign_in.handed_off": [(\.signIns, "handed_off"), (\.handOffs, "issued")],
        "sign_in.refused": [(\.signIns, "refused")],
        "sign_in.failed": [(\.signIns, "failed")],
        "sign_in.cannot_start": [(\.signIns, "cannot_start")],
        "sign_in.unknown_state": [(\.signIns, "unknown")],
        "exchange.done": [(\.handOffs, "exchanged"), (\.sessionsBegun, "app")],
        "exchange.refused": [(\.handOffs, "refused")],
        "sign_out.done": [(\.sessionsEnded, "sign_out")],
        "session.revalidated": [(\.revalidations, "renewed")],
        "session.not_revalidated": [(\.revalidations, "unreachable")],
        "session.refused": [(\.revalidations, "refused"), (\.sessionsEnded, "refused")],
        "session.other_person": [(\.sessionsEnded, "other_person")],
        "session.refresh_reused": [(\.sessionsEnded, "reused")],
        "login.done": [(\.logins, "done")],
        "login.refused": [(\.logins, "refused")],
        "login.throttled": [(\.logins, "throttled")],
    ]

    /// Events that say in a field how many sessions they ended, and the reason.
    private static let ended: [String: (field: String, reason: String)] = [
        "sign_out.backchannel": ("ended", "backchannel"),
        "session.ended_by_person": ("ended", "by_person"), "sessions.ended_others": ("ended", "by_person"),
        "sessions.ended_all": ("ended", "by_person"), "sessions.expired": ("count", "expired"),
    ]

    /// Counts what the parts say in their log, whatever level is written.
    var observer: LogObserver {
        let counted = Set(Self.single.keys).union(Self.ended.keys).union(["sign_out.begun"])
        return LogObserver(from: .warning, and: counted) { [self] in note($0, $1, $2) }
    }

    private func note(_ level: LogRecord.Level, _ event: String, _ fields: KeyValuePairs<String, JSONValue>) {
        if level >= .warning { logRecords.add(1, level.name) }
        func value(_ name: String) -> JSONValue { fields.first { $0.key == name }?.value ?? .null }
        for count in Self.single[event] ?? [] { self[keyPath: count.family].add(1, count.label) }
        if let ending = Self.ended[event] {
            sessionsEnded.add(Double(value(ending.field).integer ?? 0), ending.reason)
        }
        // The first half of a sign-out ends a session only where there is one.
        if event == "sign_out.begun", !value("session").isNull { sessionsEnded.add(1, "sign_out") }
    }
}
