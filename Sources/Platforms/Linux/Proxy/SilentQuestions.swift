// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore

/// The questions that a script did not answer, each of which costs seconds of a processor. One that is asked again rests
/// for a while; the others go on, until several in a row show that the script answers none.
struct SilentQuestions {
    /// For how long a question is left alone.
    static let rest: Duration = .seconds(60)
    /// After how many in a row the whole script is.
    static let mostInARow = 3
    private static let most = 64

    private typealias Silence = (fault: NacreError, at: Instant)
    private var known: [String: Silence] = [:]
    private var latest: Silence?
    private var inARow = 0

    /// Why a question is not asked now; nil where it is.
    func fault(for question: String, now: Instant) -> NacreError? {
        func counts(_ silence: Silence) -> Bool { now >= silence.at && now - silence.at < Self.rest }
        if let silence = known[question], counts(silence) { return silence.fault }  // guard: proxy-script-rest
        if inARow >= Self.mostInARow, let latest, counts(latest) {  // guard: proxy-script-in-a-row
            return latest.fault
        }
        return nil
    }

    mutating func note(_ question: String, _ fault: NacreError, now: Instant) {
        if known.count >= Self.most { known = [:] }
        known[question] = (fault, now)
        latest = (fault, now)
        inARow += 1
    }

    /// The script has answered something.
    mutating func answered() { inARow = 0 }
}
