// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Testing

/// A strict reader of Prometheus' text format 0.0.4: whatever a scraper might stumble over is an error.
struct PrometheusText {
    struct Sample {
        let name: String
        let labels: [String: String]
        let value: Double
    }

    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    private(set) var samples: [Sample] = []
    /// The type of each family.
    private(set) var types: [String: String] = [:]

    init(_ text: String) throws {
        guard text.hasSuffix("\n") else { throw Fault(description: "the last line has no end") }
        var family = ""
        var helped: Set<String> = []
        var seen: Set<String> = []
        for line in text.dropLast().split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("# HELP ") {
                let parts = line.dropFirst(7).split(separator: " ", maxSplits: 1)
                guard parts.count == 2, helped.insert(String(parts[0])).inserted else {
                    throw Fault(description: "HELP twice or without a text: \(line)")
                }
                continue
            }
            if line.hasPrefix("# TYPE ") {
                let parts = line.dropFirst(7).split(separator: " ")
                guard parts.count == 2, ["counter", "gauge", "histogram"].contains(parts[1]),
                    helped.contains(String(parts[0])),
                    types[String(parts[0])] == nil
                else { throw Fault(description: "a wrong TYPE: \(line)") }
                family = String(parts[0])
                guard (parts[1] == "counter") == family.hasSuffix("_total") else {
                    throw Fault(description: "counters, and only they, end in _total: \(family)")
                }
                types[family] = String(parts[1])
                continue
            }
            let sample = try Self.sample(line)
            let suffixes = types[family] == "histogram" ? ["_bucket", "_sum", "_count"] : [""]
            guard suffixes.contains(where: { sample.name == family + $0 }) else {
                throw Fault(description: "a sample outside its family \(family): \(line)")
            }
            let key =
                sample.name
                + sample.labels.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: "\u{1}")
            guard seen.insert(key).inserted else { throw Fault(description: "a series twice: \(line)") }
            samples.append(sample)
        }
        try checkHistograms()
    }

    /// The value of the one series with these labels.
    func value(_ name: String, _ labels: [String: String] = [:]) -> Double? {
        samples.first { $0.name == name && $0.labels == labels }?.value
    }

    private static func sample(_ line: Substring) throws -> Sample {
        var rest = line
        let name = String(rest.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || $0 == ":") })
        guard let first = name.first, !first.isNumber else { throw Fault(description: "no name: \(line)") }
        rest = rest.dropFirst(name.count)
        var labels: [String: String] = [:]
        if rest.first == "{" {
            rest = rest.dropFirst()
            while rest.first != "}" {
                let label = String(rest.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") })
                rest = rest.dropFirst(label.count)
                guard !label.isEmpty, !label.hasPrefix("__"), rest.hasPrefix("=\"") else {
                    throw Fault(description: "a wrong label: \(line)")
                }
                rest = rest.dropFirst(2)
                var value = ""
                while let character = rest.first, character != "\"" {
                    rest = rest.dropFirst()
                    guard character == "\\" else {
                        value.append(character)
                        continue
                    }
                    guard let escaped = rest.popFirst(), let plain = ["\\": "\\", "n": "\n", "\"": "\""][escaped] else {
                        throw Fault(description: "a wrong escape: \(line)")
                    }
                    value += plain
                }
                guard rest.popFirst() == "\"", labels.updateValue(value, forKey: label) == nil else {
                    throw Fault(description: "a label without an end, or twice: \(line)")
                }
                if rest.first == "," {
                    rest = rest.dropFirst()
                } else if rest.first != "}" {
                    throw Fault(description: "no comma: \(line)")
                }
            }
            rest = rest.dropFirst()
        }
        guard rest.first == " ", let value = Double(rest.dropFirst()) else {
            throw Fault(description: "no value: \(line)")
        }
        return Sample(name: name, labels: labels, value: value)
    }

    /// Buckets grow with their bound, the last one is infinity and says what _count says.
    private func checkHistograms() throws {
        for (family, type) in types where type == "histogram" {
            var series: [[String: String]: [(bound: Double, count: Double)]] = [:]
            for sample in samples where sample.name == family + "_bucket" {
                var labels = sample.labels
                guard let bound = labels.removeValue(forKey: "le").flatMap({ Double($0) }) else {
                    throw Fault(description: "a bucket without le in \(family)")
                }
                series[labels, default: []].append((bound, sample.value))
            }
            for (labels, buckets) in series {
                let rises = zip(buckets, buckets.dropFirst()).allSatisfy { $0.bound < $1.bound && $0.count <= $1.count }
                guard rises, buckets.last?.bound == .infinity, buckets.last?.count == value(family + "_count", labels),
                    value(family + "_sum", labels) != nil
                else { throw Fault(description: "a histogram that does not add up: \(family) \(labels)") }
            }
        }
    }
}

@Suite struct PrometheusTextTests {
    @Test(arguments: [
        "a 1", "# TYPE a gauge\na 1\n", "# HELP a x\n# TYPE a gauge\na{b=c} 1\n",
        "# HELP a x\n# TYPE a gauge\na 1\na 1\n",
        "# HELP a x\n# TYPE a counter\na 1\n", "# HELP a x\n# TYPE a gauge\nb 1\n",
        "# HELP a x\n# TYPE a gauge\na one\n",
        "# HELP a x\n# TYPE a histogram\na_bucket{le=\"1\"} 2\na_bucket{le=\"+Inf\"} 1\na_sum 1\na_count 1\n",
    ])
    func `the reader refuses what is not the format`(_ text: String) {
        #expect(throws: PrometheusText.Fault.self) { _ = try PrometheusText(text) }
    }
}
