// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CGLib
    package import NacreCore

    /// Proxy configurations in a process of their own, one question at a time: they come from the network, may never end,
    /// and need nothing of what this process holds.
    package actor ProxyScriptProcess: ProxyScriptHost {
        /// The longest line that is read, in bytes; the child's own are at most half of it.
        static let longest: gsize = 8192

        private nonisolated let thread = GLibThread(name: "nacre-proxy-script")
        private let command: [String]
        private var child: Child?
        private var last: Task<Void, Never>?

        package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

        /// - Parameter command: the program and its arguments, which speaks as `ProxyScriptServer` describes and ends itself
        ///   when a script takes too long.
        package init(command: [String]) { self.command = command }

        package func answer(script: String, url: String, host: String) async throws(NacreError) -> String {
            let before = last
            let turn = Task { () -> Result<String, NacreError> in
                await before?.value
                do throws(NacreError) {
                    return .success(try await self.ask(script, url, host))
                } catch {
                    return .failure(error)
                }
            }
            last = Task { _ = await turn.value }
            return try await turn.value.get()
        }

        private func ask(_ script: String, _ url: String, _ host: String) async throws(NacreError) -> String {
            if child?.script != script {
                child = nil
                let fresh = try Child(command, script)
                _ = try await exchange(["script": .string(script)], fresh)
                child = fresh
            }
            guard let child else { throw Self.gone }
            let answer = try await exchange(["url": .string(url), "host": .string(host)], child)
            guard let text = answer["answer"]?.string else { throw Self.gone }
            return text
        }

        private func exchange(_ question: JSONValue, _ child: Child) async throws(NacreError) -> JSONValue {
            guard await write(question.bytes + [UInt8(ascii: "\n")], to: child), let line = await read(from: child),
                let answer = try? JSONParser.parse(line)
            else {
                self.child = nil
                throw Self.gone
            }
            if let error = answer["error"]?.string { throw NacreError("proxy.script", error) }
            return answer
        }

        private static var gone: NacreError {
            NacreError("proxy.script_silent", "its script did not answer within a few seconds, or took all memory")
        }

        private func write(_ bytes: [UInt8], to child: Child) async -> Bool {
            let buffer = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: bytes.count)
            defer { buffer.deallocate() }
            _ = buffer.initialize(from: bytes)
            return await awaitGIO { callback, data in
                g_output_stream_write_all_async(
                    child.input, buffer.baseAddress, gsize(buffer.count), 0, nil, callback, data)
            } finish: { result in
                g_output_stream_write_all_finish(child.input, result, nil, nil) != 0
            }
        }

        /// The child's next line; nil where it ends, or where the line is longer than any answer of ours.
        private func read(from child: Child) async -> String? {
            while true {
                var count: gsize = 0
                let bytes = g_buffered_input_stream_peek_buffer(child.output, &count)
                let waiting = UnsafeRawBufferPointer(start: bytes, count: Int(count))
                if let end = waiting.firstIndex(of: UInt8(ascii: "\n")) {
                    let line = String(decoding: waiting[..<end], as: UTF8.self)
                    // Of what is read already: it waits for nothing.
                    g_input_stream_skip(child.stream, gsize(end + 1), nil, nil)
                    return line
                }
                guard count < Self.longest else { return nil }  // guard: proxy-script-line
                let more = await awaitGIO { callback, data in
                    g_buffered_input_stream_fill_async(child.output, -1, 0, nil, callback, data)
                } finish: { result in
                    g_buffered_input_stream_fill_finish(child.output, result, nil)
                }
                guard more > 0 else { return nil }
            }
        }

        /// A running process and the script it has read; ended with this value.
        private final class Child {
            let script: String
            let input: UnsafeMutablePointer<GOutputStream>
            let stream: UnsafeMutablePointer<GInputStream>
            /// `stream` again, as what it is.
            let output: UnsafeMutablePointer<GBufferedInputStream>
            private let process: OpaquePointer

            init(_ command: [String], _ script: String) throws(NacreError) {
                self.script = script
                let launcher = g_subprocess_launcher_new(
                    GSubprocessFlags(
                        G_SUBPROCESS_FLAGS_STDIN_PIPE.rawValue | G_SUBPROCESS_FLAGS_STDOUT_PIPE.rawValue
                            | G_SUBPROCESS_FLAGS_STDERR_SILENCE.rawValue))
                defer { g_object_unref(UnsafeMutableRawPointer(launcher)) }
                // Only what the loader, the clock and the resolver of names look for.
                let kept = ["PATH", "LD_LIBRARY_PATH", "TZ", "RES_OPTIONS"].compactMap { (name: String) -> String? in
                    g_getenv(name).map { "\(name)=\(String(cString: $0))" }
                }
                // No code made at run time, and no memory set aside ahead, which limits could not tell from memory in use.
                let engine = ["JSC_useJIT=0", "GIGACAGE_ENABLED=0"]
                withStrings(kept + engine) { g_subprocess_launcher_set_environ(launcher, $0) }
                var failure: UnsafeMutablePointer<GError>?
                guard
                    let process = withStrings(
                        command,
                        { words in
                            words.withMemoryRebound(to: UnsafePointer<gchar>?.self, capacity: command.count + 1) {
                                g_subprocess_launcher_spawnv(launcher, $0, &failure)
                            }
                        })
                else {
                    throw NacreError(
                        "proxy.script", "the program that runs it cannot be started",
                        cause: GLibFailure(taking: failure))
                }
                self.process = process
                input = g_subprocess_get_stdin_pipe(process)
                stream = g_buffered_input_stream_new_sized(g_subprocess_get_stdout_pipe(process), longest)
                output = UnsafeMutableRawPointer(stream).assumingMemoryBound(to: GBufferedInputStream.self)
            }

            deinit {
                g_subprocess_force_exit(process)
                g_object_unref(UnsafeMutableRawPointer(stream))
                g_object_unref(UnsafeMutableRawPointer(process))
            }
        }
    }

    /// A null-terminated array of C strings, for the length of a call.
    private func withStrings<Result>(
        _ texts: [String], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<gchar>?>) -> Result
    ) -> Result {
        var pointers: [UnsafeMutablePointer<gchar>?] = texts.map { g_strdup($0) } + [nil]
        defer { pointers.forEach { g_free($0) } }
        return pointers.withUnsafeMutableBufferPointer { body($0.baseAddress!) }
    }
#endif
