// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
package import NacreHTTP
import NacrePorts

/// What a page's script may do with the cookies of the API's origin (NB-7, `CapacitorCookies`).
extension AppSession: CookieHolder {
    package func visibleCookies(for url: WebURL) -> [(name: String, value: String)] {
        jar.visible(for: url, now: time.now)
    }

    package func setCookie(_ text: String, name: String, from url: WebURL) -> Bool {
        guard jar.setFromScript(text, name: name, from: url, now: time.now) else { return false }
        if phase == .signedIn { saveSoon() }
        return true
    }

    /// A page that throws its session away finds itself signed out as soon as the server says so.
    package func clearCookies(for url: WebURL?) {
        jar.clear(for: url, now: time.now)
        guard phase == .signedIn else { return }
        saveSoon()
        startValidation()
    }
}
