// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore

/// What the operating system says of this process, under the names that Prometheus' own client libraries use.
struct ProcessMetrics: Sendable {
    let started: Instant

    /// Read anew at every scrape; what the system does not tell is left out.
    func read() -> [MetricFamily] {
        var result = [gauge("process_start_time_seconds", "When the server half began.", Double(started.seconds))]
        let pages = Self.text("/proc/self/statm")?.split(separator: " ")
        if let pages, pages.count > 1, let resident = Double(pages[1]) {
            result.append(
                gauge(
                    "process_resident_memory_bytes", "Memory in use.", resident * Double(sysconf(Int32(_SC_PAGESIZE)))))
        }
        if let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count {
            // Looking takes one descriptor itself.
            result.append(gauge("process_open_fds", "File descriptors in use.", Double(max(0, open - 1))))
        }
        var limit = rlimit()
        if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
            result.append(gauge("process_max_fds", "File descriptors allowed.", Double(limit.rlim_cur)))
        }
        // After the name in parentheses, which may hold spaces: state is field 3, utime and stime are 14 and 15.
        if let stat = Self.text("/proc/self/stat"), let end = stat.lastIndex(of: ")") {
            let fields = stat[stat.index(after: end)...].split(separator: " ")
            if fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) {
                let family = MetricFamily(.counter, "process_cpu_seconds_total", "Processor time used.")
                family.add((user + system) / Double(sysconf(Int32(_SC_CLK_TCK))))
                result.append(family)
            }
        }
        return result
    }

    private func gauge(_ name: String, _ help: String, _ value: Double) -> MetricFamily {
        let family = MetricFamily(.gauge, name, help)
        family.set(value)
        return family
    }

    private static func text(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }
}
