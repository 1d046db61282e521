// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// What Nacre makes of Capacitor's settings that have no key of their own in `nacre.json`.
enum SettingRules {
    private typealias Rule = (kind: ProjectNote.Kind, reason: String, remedy: String?)

    private static let rules: [String: Rule] = [
        "server.cleartext": (
            .needless, "cleartext is allowed in development (NACRE_ENV=development) and never in a release (NB-8)", nil
        ),
        "server.errorPath": (
            .lost, "the bundle starts without the network, and an unreachable development server has a page of its own",
            "show your own page when a request of the bundle fails"
        ),
        "server.appStartPath": (.lost, "the app starts at /", "let index.html go on to the page it should start with"),
        "server.allowNavigation": (
            .lost, "a page off the app's own origin opens in the person's browser, whatever its host (NB-10)",
            "call these hosts by fetch, or open them with Browser.open"
        ),
        "plugins.CapacitorHttp.enabled": (
            .needless, "every request of the page goes through the native stack, with nothing patched (NB-1)", nil
        ),
        "plugins.CapacitorCookies.enabled": (
            .needless, "the API's cookies live in a native, sealed jar; document.cookie shows the page's own (NB-7)",
            nil
        ),
        "plugins.SystemBars": (
            .needless, "the shell itself keeps --safe-area-inset-* and --keyboard right (SH-5)",
            "take out code of your own that writes them"
        ),
        "plugins.Keyboard.resize": (
            .lost, "the page's box shrinks by the keyboard, once, unless the page says otherwise (SH-9)",
            "call Keyboard.setResizeMode({mode}) at the start for another mode"
        ),
        "plugins.Keyboard": (.lost, "is set at run time", "call the Keyboard plugin at the start"),
        "plugins.StatusBar": (.lost, "is set at run time", "call the StatusBar plugin at the start"),
        "plugins.SplashScreen": (
            .lost, "there is no splash screen: the window opens on the page's first paint", "leave the plugin out"
        ),
        "plugins.PushNotifications.presentationOptions": (
            .lost, "the desktop decides how a notification looks", nil
        ),
        "plugins.CapacitorUpdater.autoUpdate": (
            .lost, "updates come from your own bucket, never from an update service", "publish them with your own key"
        ),
        "plugins.CapacitorUpdater": (
            .lost, "the updater follows the release channel that the server names", "set the channel on the server"
        ),
        "loggingBehavior": (.needless, "the shell logs to standard error, secrets left out", nil),
        "hideLogs": (.needless, "the shell logs to standard error, secrets left out", nil),
        "bundledWebRuntime": (.needless, "window.Capacitor is there before the first script", nil),
        "npmClient": (.needless, "nothing of Nacre is installed by a package manager of JavaScript", nil),
        "overrideUserAgent": (
            .lost, "the web view keeps its user agent", "tell the app apart by Capacitor.getPlatform() or nacre.version"
        ),
        "appendUserAgent": (
            .lost, "the web view keeps its user agent", "tell the app apart by Capacitor.getPlatform() or nacre.version"
        ),
        "backgroundColor": (.lost, "the page has the whole window", "set the background of <html> in the bundle's CSS"),
        "zoomEnabled": (.lost, "the page is never zoomed by itself", nil),
        "initialFocus": (.needless, "the page has the focus when the window opens", nil),
        "experimental": (.lost, "concerns Capacitor's own tools", nil),
        "cordova": (.lost, "plugins of Cordova do not run", "replace them by Capacitor's plugins of the same purpose"),
        "android.allowMixedContent": (
            .lost, "a secure page loads nothing over cleartext (NB-8)", "serve these files by https"
        ),
        "android.webContentsDebuggingEnabled": (.needless, "the inspector is there in development only", nil),
        "ios.webContentsDebuggingEnabled": (.needless, "the inspector is there in development only", nil),
        "android.buildOptions": (
            .lost, "keys that sign a build have no place in a file that ships inside the app",
            "keep them with the job that builds the Android project"
        ),
        "ios.limitsNavigationsToAppBoundDomains": (
            .lost, "a page off the app's own origin opens in the person's browser in any case (NB-10)", nil
        ),
        "android": (.lost, "belongs to the Android project", "keep it there; the Linux shell has no use for it"),
        "ios": (.lost, "belongs to the iOS project", "keep it there; the Linux shell has no use for it"),
        "electron": (.lost, "belongs to the Electron project", "keep it there; the Linux shell has no use for it"),
    ]

    /// The rule for a setting: its own, or that of the nearest object around it.
    static func note(for path: String, plugins: Set<String>) -> ProjectNote {
        var prefix = path
        while true {
            if let rule = rules[prefix] { return ProjectNote(rule.kind, path, rule.reason, do: rule.remedy) }
            guard let dot = prefix.lastIndex(of: ".") else { break }
            prefix = String(prefix[..<dot])
        }
        let parts = path.split(separator: ".").map(String.init)
        if parts.first == "plugins", parts.count > 1 {
            return plugins.contains(parts[1])
                ? ProjectNote(.lost, path, "Nacre has the plugin \(parts[1]), and it takes no settings from a file")
                : ProjectNote(
                    .lost, path, "Nacre has no plugin \(parts[1]); its calls are refused with UNIMPLEMENTED",
                    do: "let the page go without it")
        }
        if parts.first == "server" {
            return ProjectNote(.lost, path, "Nacre serves the page itself and knows no such setting")
        }
        return ProjectNote(.lost, path, "is no setting that Capacitor or Nacre reads")
    }
}
