// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell
    import Glibc
    import NacreCore

    /// This program once more, in this process's place.
    enum Relaunch {
        /// Does not return, but for the reason why it could not be done.
        ///
        /// - Parameter environment: as this process was started with it, so that what was wiped of it is there again.
        static func run(_ arguments: [String], _ environment: [String: String]) -> NacreError {
            // Whatever is open belongs to what is over; the kernel closes it when the program is replaced.
            for file in 3..<Int32(clamping: min(sysconf(Int32(_SC_OPEN_MAX)), 65_536)) {
                _ = fcntl(file, F_SETFD, FD_CLOEXEC)
            }
            var words = (["nacre"] + arguments).map { strdup($0) } + [nil]
            var variables = environment.map { strdup("\($0)=\($1)") } + [nil]
            execve("/proc/self/exe", &words, &variables)
            return NacreError(
                "run.restart", "The app could not be started again (error \(errno)); start it yourself.")
        }
    }
#endif
