// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

extension NacreApplication {
    /// The plugins that a page finds (NB-9), for whoever has to know before an app runs. Nacre's own has no place here.
    package static let pluginNames: Set<String> = [
        "App", "Browser", "CapacitorCookies", "CapacitorHttp", "CapacitorUpdater", "Clipboard", "Device", "Filesystem",
        "Haptics",
        "Keyboard", "Network", "Preferences", "PushNotifications", "Share", "StatusBar",
        "SystemBars", "WebAuthSession",
    ]
}
