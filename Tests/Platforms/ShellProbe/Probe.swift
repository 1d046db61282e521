// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Glibc
import NacreGTKShell

/// Prints what the shell tells; a bridge message `do …` makes it do something.
@MainActor
final class Probe: ShellDelegate {
    private unowned let handle: any ShellHandle
    private var retries = 0
    private var closesSlowly = false

    init(_ handle: any ShellHandle) { self.handle = handle }

    func bridgeMessage(_ json: String, pageLoad: UInt64) async -> String {
        say("message \(pageLoad) \(json)")
        switch json {
        case "slow": try? await Task.sleep(for: .seconds(2))
        case "event": await handle.dispatch(event: #"{"hello":"é\#u{2028}"}"#, pageLoad: pageLoad)
        case "stale": return "\(await handle.dispatch(event: "{}", pageLoad: pageLoad + 1))"
        case "evaluate":
            let page = try? await handle.evaluate("typeof webkit?.messageHandlers?.nacre", in: .page)
            let bridge = try? await handle.evaluate("typeof webkit?.messageHandlers?.nacre", in: .bridge)
            return "\(page ?? "failed") \(bridge ?? "failed")"
        case "dev": handle.show(.devServerUnreachable(address: "http://localhost:5173", reason: "connection refused"))
        case "close", "close slowly":
            closesSlowly = json == "close slowly"
            handle.close()
        case "clear": await handle.clearWebsiteData()
        case "replace", "replace later":
            Task { [handle] in
                if json == "replace later" { try? await Task.sleep(for: .seconds(1)) }
                await handle.replacePage { last in say("swap \(last)") }
            }
        default: break
        }
        return "reply to \(json) in load \(pageLoad)"
    }

    func pageLoadStarted(_ pageLoad: UInt64) { say("load \(pageLoad)") }
    func pageReady(_ pageLoad: UInt64) { say("ready \(pageLoad)") }
    func openLinks(_ links: [String]) { say("links \(links.joined(separator: " "))") }
    func openExternally(_ url: String) { say("external \(url)") }
    func pageFailed(_ reason: String) { say("failed \(reason)") }
    func webProcessCrashed(_ reason: ShellCrash) { say("crashed \(reason.rawValue)") }
    func networkProcessLost() { say("network process lost") }
    func windowWillClose() async {
        say("closing")
        guard closesSlowly else { return }
        closesSlowly = false
        try? await Task.sleep(for: .seconds(3))
    }

    func activated() { say("activated") }
    func deactivated() { say("deactivated") }

    func backRequested(canGoBack: Bool) async -> Bool {
        say("back \(canGoBack)")
        return false
    }

    func canRetry(_ page: ShellPage) async -> Bool {
        retries += 1
        return retries > 1
    }
}

/// One unbuffered line.
func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    write(STDOUT_FILENO, bytes, bytes.count)
}
