// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CGLib
    import Glibc

    /// What the process of proxy configurations takes from itself before it reads the first.
    enum ProxyScriptLimits {
        /// The memory that scripts may use, in bytes.
        static let memory: rlim_t = 512 << 20

        /// Memory beyond what the engine itself needs, files that grow, pictures of a crash, further rights: none of it.
        ///
        /// The number of processes stays as it is: the kernel counts it for the whole user, not for this process.
        static func set() {
            nacre_no_new_privileges()
            limit(RLIMIT_FSIZE, 0)
            limit(RLIMIT_CORE, 0)
            // The engine reserves gigabytes of addresses when it starts, and the kernel counts those too.
            _ = try? ProxyScriptEngine(script: "")
            if let used = dataInUse() { limit(RLIMIT_DATA, used + memory) }
        }

        private static func limit(_ resource: __rlimit_resource, _ most: rlim_t) {
            var value = rlimit(rlim_cur: most, rlim_max: most)
            setrlimit(__rlimit_resource_t(resource.rawValue), &value)
        }

        /// As the kernel counts for RLIMIT_DATA: the sixth number of proc(5)'s statm, in pages.
        private static func dataInUse() -> rlim_t? {
            guard let file = fopen("/proc/self/statm", "r") else { return nil }
            defer { fclose(file) }
            var line = [CChar](repeating: 0, count: 256)
            guard fgets(&line, Int32(line.count), file) != nil else { return nil }
            let text = line.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
            let numbers = text.split(whereSeparator: \.isWhitespace).compactMap { rlim_t($0) }
            guard numbers.count > 5 else { return nil }
            return numbers[5] * rlim_t(sysconf(Int32(_SC_PAGESIZE)))
        }
    }
#endif
