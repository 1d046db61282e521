// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreBridge
package import NacreCore

/// Backs `nacre.accounts`, in apps that a person may use with several.
package struct AccountsPlugin: BridgePlugin {
    package static let pluginName = "NacreAccounts"
    package static let changeEvent = "change"

    package let name = AccountsPlugin.pluginName
    package let methods = ["add", "switch", "remove"].map { BridgeMethod($0) }
    private let keeper: AccountKeeper

    init(keeper: AccountKeeper) { self.keeper = keeper }

    package func call(_ method: String, options: JSONValue, call: BridgeCallContext) async throws -> JSONValue {
        if method == "add" { return ["outcome": try await keeper.add() ? "adding" : "current"] }
        guard let id = options["id"]?.string else { throw AccountBook.unknown }
        if method == "switch" { return ["outcome": try await keeper.choose(id) ? "switching" : "current"] }
        return ["outcome": try await keeper.remove(id) ? "removed" : "removing"]
    }

    package func currentValue(of event: String) async -> JSONValue? {
        event == Self.changeEvent ? keeper.book.json : nil
    }
}
