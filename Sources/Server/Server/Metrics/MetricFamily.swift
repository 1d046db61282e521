// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Synchronization

/// One metric: a name, what it means, and its series by the values of its labels.
///
/// Labels come from closed sets (route patterns, status classes, codes). Should one be fed from outside by mistake, the
/// family stops growing at `maximumSeries` and counts the rest under `other`.
final class MetricFamily: Sendable {
    enum Kind: String {
        case counter
        case gauge
        case histogram
    }

    private struct Series {
        var value = 0.0
        var buckets: [UInt64]
        var count: UInt64 = 0
    }

    static let maximumSeries = 1000

    let name: String
    let help: String
    let kind: Kind
    let labels: [String]
    /// The upper bounds of a histogram's buckets, ascending, without infinity.
    let bounds: [Double]
    private let series = Mutex<[[String]: Series]>([:])

    init(_ kind: Kind, _ name: String, _ help: String, labels: [String] = [], bounds: [Double] = []) {
        self.kind = kind
        self.name = name
        self.help = help
        self.labels = labels
        self.bounds = bounds
        // Without labels there is one series, and it is there from the start.
        if labels.isEmpty { change([]) { _ in } }
    }

    private func change(_ values: [String], _ body: (inout Series) -> Void) {
        precondition(values.count == labels.count, "\(name) takes the labels \(labels)")
        series.withLock { series in
            // Every request comes by here several times: one look-up, most of the time.
            if let place = series.index(forKey: values) { return body(&series.values[place]) }
            let known = series.count < Self.maximumSeries  // guard: metric-series
            let key = known ? values : labels.map { _ in "other" }
            body(&series[key, default: Series(buckets: bounds.map { _ in 0 })])
        }
    }

    /// Adds to a counter or a gauge.
    func add(_ amount: Double = 1, _ values: String...) { change(values) { $0.value += amount } }

    /// Sets a gauge.
    func set(_ value: Double, _ values: String...) { change(values) { $0.value = value } }

    /// Notes one observation of a histogram.
    func observe(_ value: Double, _ values: String...) {
        change(values) { series in
            series.value += value
            series.count += 1
            // Buckets are cumulative only in the text.
            if let place = bounds.firstIndex(where: { value <= $0 }) { series.buckets[place] += 1 }
        }
    }

    /// The text format of this family (Prometheus exposition format 0.0.4).
    var text: String {
        let series = series.withLock { $0 }
        var out = "# HELP \(name) \(Self.escape(help, quotes: false))\n# TYPE \(name) \(kind.rawValue)\n"
        for values in series.keys.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            guard let entry = series[values] else { continue }
            let pairs = zip(labels, values).map { "\($0)=\"\(Self.escape($1, quotes: true))\"" }
            func line(_ suffix: String, _ extra: [String], _ value: String) {
                let all = pairs + extra
                out += name + suffix + (all.isEmpty ? "" : "{\(all.joined(separator: ","))}") + " \(value)\n"
            }
            guard kind == .histogram else {
                line("", [], Self.decimal(entry.value))
                continue
            }
            var sum: UInt64 = 0
            for (bound, count) in zip(bounds, entry.buckets) {
                sum += count
                line("_bucket", ["le=\"\(Self.decimal(bound))\""], String(sum))
            }
            line("_bucket", ["le=\"+Inf\""], String(entry.count))
            line("_sum", [], Self.decimal(entry.value))
            line("_count", [], String(entry.count))
        }
        return out
    }

    private static func decimal(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : "\(value)"
    }

    private static func escape(_ text: String, quotes: Bool) -> String {
        var out = ""
        for character in text.unicodeScalars {
            switch character {
            case "\\": out += "\\\\"
            case "\n": out += "\\n"
            case "\"" where quotes: out += "\\\""
            default: out.unicodeScalars.append(character)
            }
        }
        return out
    }
}
