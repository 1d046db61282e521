// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import Glibc
    import NacreCore

    /// The process in which automatic proxy configurations run, one line of JSON to a question and one to its answer. It
    /// holds nothing of the app.
    ///
    /// `{"script": …}` → `{"ok": true}`; `{"url": …, "host": …}` → `{"answer": …}`; either may get `{"error": …}`.
    package enum ProxyScriptServer {
        /// The argument by which the program becomes this process.
        package static let command = "proxy-script"

        /// How long an answer may take, in seconds.
        static let limit: UInt32 = 5

        /// Answers standard input until it ends.
        package static func run() -> Int32 {
            // A script that fills the memory is the first thing to go.
            if let file = fopen("/proc/self/oom_score_adj", "w") {
                fputs("1000", file)
                fclose(file)
            }
            ProxyScriptLimits.set()  // guard: proxy-script-confined
            // A script that never ends ends this process and nothing else: also one whose parent is gone.
            signal(SIGALRM, SIG_DFL)
            var alarms = sigset_t()
            sigemptyset(&alarms)
            sigaddset(&alarms, SIGALRM)
            sigprocmask(SIG_UNBLOCK, &alarms, nil)
            var conversation = Conversation()
            while let line = readLine() {
                alarm(limit)
                print(conversation.answer(line))
                alarm(0)
                fflush(nil)
            }
            return 0
        }

        struct Conversation {
            /// The longest line that is answered, in bytes.
            static let longest = 4096
            /// What is left of an error's words, in bytes: written as JSON, a byte may take six.
            private static let longestError = 600

            private var engine: ProxyScriptEngine?
            private let names = ProxyScriptNames()

            init() {}

            mutating func answer(_ line: String) -> String {
                names.begin()
                do throws(NacreError) {
                    let text = Self.text(try self.answer(JSONParser.parse(line)))
                    // Never a part of it: that could name another proxy.
                    guard text.utf8.count <= Self.longest else {  // guard: proxy-script-length
                        throw NacreError("proxy.script", "its answer is longer than any list of proxies")
                    }
                    return text
                } catch {
                    let words = String(decoding: error.message.utf8.prefix(Self.longestError), as: UTF8.self)
                    return Self.text(["error": .string(words)])
                }
            }

            private static func text(_ value: JSONValue) -> String { String(decoding: value.bytes, as: UTF8.self) }

            private mutating func answer(_ question: JSONValue) throws(NacreError) -> JSONValue {
                if let script = question["script"]?.string {
                    engine = nil
                    engine = try ProxyScriptEngine(script: script, names: names)
                    return ["ok": true]
                }
                guard let engine, let url = question["url"]?.string, let host = question["host"]?.string else {
                    throw NacreError("proxy.script", "no script was given")
                }
                return ["answer": .string(try engine.answer(for: url, host: host))]
            }
        }
    }
#endif
