// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CGLib
    import CWebKitGTK

    extension WebPage {
        /// How long a page may take to go by itself; one that hangs, or asks whether to lose what was typed, is ended.
        private static let patience: Duration = .milliseconds(1500)

        /// Puts another bundle's page in this one's place; one after the other where there are several.
        ///
        /// The old page goes first: it must not see files of the new bundle, nor fill caches that are being cleared.
        func replace(_ swap: @escaping @Sendable (UInt64) async -> Void) async {
            let before = replacing
            let task = Task { @MainActor in
                await before?.value
                await leave()
                await swap(lastLoad)
                await clearServiceWorkers()
                load(configuration.startURL)
            }
            replacing = task
            await task.value
        }

        /// Returns when no document of the app is shown or on its way.
        private func leave() async {
            guard currentLoad != 0 || pendingPage != nil else { return }
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                leaving = continuation
                if pendingPage == nil { show(.blank) }
                leavingRound += 1
                let round = leavingRound
                Task {
                    try? await Task.sleep(for: Self.patience)
                    guard leaving != nil, round == leavingRound else { return }
                    // Ends by `web-process-terminated`, or here where there is no process.
                    webkit_web_view_terminate_web_process(view)
                    try? await Task.sleep(for: Self.patience)
                    guard leaving != nil, round == leavingRound else { return }
                    leaving?.resume()
                    leaving = nil
                }
            }
            pendingPage = nil
        }
    }
#endif
