// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacrePorts

/// Where an app keeps its accounts, and how it starts anew with another one.
package struct AccountSeat: Sendable {
    package let folders: AccountFolders
    /// The accounts at this start.
    package let book: AccountBook
    /// Whether a person chooses each account's server (`api.choose`).
    package let choosesServer: Bool
    /// The keyrings of another place than the one that is shown, without memory.
    package let secrets: @Sendable (_ place: AppPlace, _ state: String) async -> [any SecretStore]
    /// Ends this process and starts the app again.
    package let restart: @Sendable () async -> Void

    package init(
        folders: AccountFolders, book: AccountBook, choosesServer: Bool,
        secrets: @escaping @Sendable (_ place: AppPlace, _ state: String) async -> [any SecretStore],
        restart: @escaping @Sendable () async -> Void
    ) {
        self.folders = folders
        self.book = book
        self.choosesServer = choosesServer
        self.secrets = secrets
        self.restart = restart
    }
}
