// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacreCrypto
package import NacreReleases

/// What a build says of its updates (`nacre.json`, `updates`): the page can choose none of it.
package struct UpdateSettings: Sendable {
    /// The app's id, such as `org.example.messages`.
    package var app: String
    /// Such as `linux`.
    package var platform: String
    /// `app.version`.
    package var native: NativeVersion
    /// `app.build`.
    package var build: String
    /// The key of the source system's format (`updates.publicKey`); nil where a build follows signed releases only.
    package var archiveKey: PublicKey?
    /// The root keys (`updates.rootKeys`); nil where a build follows the source system's rules.
    package var roots: RootKeys?
    /// `bundle.version`: of the bundle inside the app.
    package var builtInVersion: String
    /// `updates.sequence`: under which the bundle inside the app was published, if it was; a floor for what may follow.
    package var builtInSequence: Int64?
    /// `updates.storageEpoch`: of the bundle inside the app.
    package var builtInStorageEpoch: Int64
    /// `updates.appReadyTimeout`: how long a new bundle has to confirm its start (UP-7).
    package var appReadyTimeout: Duration
    /// Whether http is allowed for manifest and bundle.
    package var isDevelopment: Bool
    /// When the app was built, as far as it knows; a clock before it is wrong.
    package var built: Instant

    package init(
        app: String, platform: String, native: NativeVersion, build: String, archiveKey: PublicKey? = nil,
        roots: RootKeys? = nil, builtInVersion: String, builtInSequence: Int64? = nil, builtInStorageEpoch: Int64 = 0,
        appReadyTimeout: Duration = .seconds(10), isDevelopment: Bool = false,
        built: Instant = Instant(milliseconds: 0)
    ) {
        (self.app, self.platform, self.native, self.build) = (app, platform, native, build)
        (self.archiveKey, self.roots) = (archiveKey, roots)
        (self.builtInVersion, self.builtInSequence) = (builtInVersion, builtInSequence)
        self.builtInStorageEpoch = builtInStorageEpoch
        (self.appReadyTimeout, self.isDevelopment, self.built) = (appReadyTimeout, isDevelopment, built)
    }
}

/// Where the updater keeps what it has.
package struct UpdateFolders: Sendable {
    /// The updater's own: its state, downloads and bundles. One for the app, whichever account or server is in use.
    package var updates: String
    /// The bundle inside the app.
    package var builtIn: String
    /// What the web view stores for the account in use; a copy of it is kept beside it while a new storage epoch is tried.
    package var web: String

    package init(updates: String, builtIn: String, web: String) {
        (self.updates, self.builtIn, self.web) = (updates, builtIn, web)
    }
}

/// The bundle that the page's origin is to serve.
package struct BootedBundle: Sendable, Equatable {
    /// Where it lies; nil for the one inside the app.
    package var folder: String?
    /// What people call it.
    package var version: String
    /// Of the running tree for the version report (UP-11); nil for the one inside the app.
    package var stamp: String?
    /// Whether it has still to confirm its start.
    package var isOnTrial: Bool

    package init(folder: String?, version: String, stamp: String?, isOnTrial: Bool) {
        (self.folder, self.version, self.stamp, self.isOnTrial) = (folder, version, stamp, isOnTrial)
    }
}

/// What the server says of updates (UP-1).
package struct UpdateSource: Sendable, Equatable {
    /// Where the manifest of the channel lies that this app is to follow.
    package var manifestURL: String
    /// A signed word that a manifest is still the newest, as it came; nil where the server gives none.
    package var freshness: JSONValue?

    package init(manifestURL: String, freshness: JSONValue? = nil) {
        (self.manifestURL, self.freshness) = (manifestURL, freshness)
    }
}

/// What the updater asks of the window.
package protocol UpdateHost: Sendable {
    /// Serves this bundle from now on: service workers and the Cache API of the one before are cleared, everything else that
    /// the web view has stored stays, and the app's start page is loaded.
    func show(_ bundle: BootedBundle) async
    /// Starts the app anew, where what the web view has stored must be exchanged while no page is alive.
    func restart() async
}
