// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreGTKShell

/// Prints what the shell tells; a bridge message `do …` makes it do something.
@MainActor
final class Probe: ShellDelegate {
    private unowned let handle: any ShellHandle
    private var retries = 0

    init(_ handle: any ShellHandle) { self.handle = handle }

    func bridgeMessage(_ json: String, pageLoad: UInt64) async -> String {
        print("message \(pageLoad) \(json)")
        switch json {
        case "slow": try? await Task.sleep(for: .seconds(2))
        case "event": await handle.dispatch(event: #"{"hello":"é\#u{2028}"}"#, pageLoad: pageLoad)
        case "stale": return "\(await handle.dispatch(event: "{}", pageLoad: pageLoad + 1))"
        case "evaluate":
            let page = try? await handle.evaluate("typeof webkit?.messageHandlers?.nacre", in: .page)
            let bridge = try? await handle.evaluate("typeof webkit?.messageHandlers?.nacre", in: .bridge)
            return "\(page ?? "failed") \(bridge ?? "failed")"
        case "dev": handle.show(.devServerUnreachable(address: "http://localhost:5173", reason: "connection refused"))
        case "close": handle.close()
        case "clear": await handle.clearWebsiteData()
        default: break
        }
        return "reply to \(json) in load \(pageLoad)"
    }

    func pageLoadStarted(_ pageLoad: UInt64) { print("load \(pageLoad)") }
    func pageReady(_ pageLoad: UInt64) { print("ready \(pageLoad)") }
    func openLinks(_ links: [String]) { print("links \(links.joined(separator: " "))") }
    func openExternally(_ url: String) { print("external \(url)") }
    func webProcessCrashed(_ reason: ShellCrash) { print("crashed \(reason.rawValue)") }
    func networkProcessLost() { print("network process lost") }
    func windowWillClose() async { print("closing") }
    func activated() { print("activated") }
    func deactivated() { print("deactivated") }

    func backRequested(canGoBack: Bool) async -> Bool {
        print("back \(canGoBack)")
        return false
    }

    func canRetry(_ page: ShellPage) async -> Bool {
        retries += 1
        return retries > 1
    }
}
