// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacrePorts

extension SignInFlow {
    static let restPatience: Duration = .seconds(5)

    /// Before another account takes this process's place: what needs nobody any more comes to its end first, so that nothing
    /// is left half done for an account that may not be opened for days. A sign-in that waits for the person stays on disk;
    /// its link finds it from any other account (`RestingAttempts`).
    package func rest() async {
        guard let current else { return }
        let id = current.record.id
        switch current.record.phase {
        case .waiting, .borrowed: return
        // HO-15: cancelled or not, a sign-out ends here at once.
        case .leaving: await handle(.cancel, for: id)
        case .cancelling: await handle(.graceOver, for: id)
        case .exchanging, .exchangingCancelled, .revoking: break
        }
        // Whoever waits for an end cannot be called off; whoever waits for a stream can.
        let (end, told) = AsyncStream<Never>.makeStream()
        Task {
            _ = await waitForEnd(of: id)
            told.finish()
        }
        _ = try? await withTimeLimit(
            Self.restPatience, time: parts.time,
            timeout: { NacreError("sign_in.slow", "The server takes its time.") },
            operation: { for await _ in end {} })
    }
}
