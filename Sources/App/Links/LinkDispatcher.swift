// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
package import NacrePorts

/// What the app makes of a link that no running flow has taken.
package enum LinkFallback: Sendable {
    /// It resumed something and is spent.
    case consumed
    /// The page gets it, once it is ready.
    case route
    case drop
}

/// The one listener for links, for the life of the app (HO-9).
///
/// Links are handled one after the other. A capture is asked first, newest first; then the fallback. A link that a flow has
/// consumed is remembered by its digest and refused when it comes again. Links wait until `start`, links for the page
/// until `pageReady`.
package actor LinkDispatcher: LinkCapture {
    /// So many links wait at most, for the start or for the page.
    static let mostWaiting = 32

    private let schemes: Set<String>
    private let journal: LinkJournal
    private let time: any TimeSource
    private let random: any RandomSource
    private let log: Log
    private let fallback: @Sendable (IncomingLink, DeepLink) async -> LinkFallback
    private let deliver: @Sendable (IncomingLink) async -> Void

    private var captures: [(handle: LinkCaptureHandle, handler: @Sendable (IncomingLink) async -> Bool)] = []
    private var lastHandle: UInt64 = 0
    private var arrived: [IncomingLink] = []
    private var forPage: [IncomingLink] = []
    private var started = false
    private var pageIsReady = false
    private var working = false

    /// - Parameters:
    ///   - schemes: the app's own schemes; links of others are ignored.
    ///   - fallback: decides over a link that no capture has taken.
    ///   - deliver: hands a link to the page.
    package init(
        schemes: Set<String>, journal: LinkJournal, time: any TimeSource, random: any RandomSource, log: Log,
        fallback: @escaping @Sendable (IncomingLink, DeepLink) async -> LinkFallback,
        deliver: @escaping @Sendable (IncomingLink) async -> Void
    ) {
        self.schemes = schemes
        self.journal = journal
        self.time = time
        self.random = random
        self.log = log
        self.fallback = fallback
        self.deliver = deliver
    }

    /// Begins handling links, also those that came before: call it once pending flows have been resumed.
    package func start() async {
        started = true
        do {
            forPage = try await journal.waiting() + forPage
        } catch {
            log.error("links.journal", ["reason": .string("\(error)")])
        }
        await work()
    }

    /// A link from outside, warm or cold.
    package func receive(_ url: String) async {
        guard url.utf8.count <= DeepLink.longest, arrived.count < Self.mostWaiting else {  // guard: link-flood
            log.notice("links.refused", ["code": "link.too_long_or_many"])
            return
        }
        arrived.append(IncomingLink(id: random.identifier(), url: url))
        await work()
    }

    /// The page listens now: what waits for it is handed over.
    package func pageReady() async {
        pageIsReady = true
        await work()
    }

    /// A new page is loading; links wait again.
    package func pageStarted() { pageIsReady = false }

    package func capture(_ handler: @escaping @Sendable (IncomingLink) async -> Bool) -> LinkCaptureHandle {
        lastHandle += 1
        let handle = LinkCaptureHandle(id: lastHandle)
        captures.append((handle, handler))
        return handle
    }

    package func release(_ handle: LinkCaptureHandle) { captures.removeAll { $0.handle == handle } }

    private func work() async {
        guard started, !working else { return }
        working = true
        while true {
            if !arrived.isEmpty {
                await process(arrived.removeFirst())
            } else if pageIsReady, !forPage.isEmpty {
                await handOver(forPage.removeFirst())
            } else {
                break
            }
        }
        working = false
    }

    private func process(_ link: IncomingLink) async {
        let parsed: DeepLink
        do throws(NacreError) {
            parsed = try DeepLink(parsing: link.url, schemes: schemes)
        } catch {
            log.notice("links.refused", ["code": .string(error.code.rawValue)])
            return
        }
        // Only a link that carries something can be replayed with effect; `scheme://logout` is the same every time.
        let isOneTime = parsed.hasQuery
        if isOneTime, await wasSpent(link) {  // guard: link-replay
            log.notice("links.replayed", ["host": .string(parsed.host)])
            return
        }
        for capture in captures.reversed() where await capture.handler(link) {
            return await spend(link, isOneTime)
        }
        switch await fallback(link, parsed) {
        case .consumed: await spend(link, isOneTime)
        case .drop: log.notice("links.dropped", ["host": .string(parsed.host)])
        case .route:
            do {
                try await journal.keep(link, now: time.now)
            } catch {
                log.error("links.journal", ["reason": .string("\(error)")])
            }
            forPage.append(link)
            // Any web site can open links: of those that nobody fetches the oldest go.
            while forPage.count > Self.mostWaiting { await forget(forPage.removeFirst()) }
        }
    }

    private func forget(_ link: IncomingLink) async {
        do {
            try await journal.take(link)
        } catch {
            log.error("links.journal", ["reason": .string("\(error)")])
        }
    }

    private func handOver(_ link: IncomingLink) async {
        await forget(link)
        await deliver(link)
    }

    private func wasSpent(_ link: IncomingLink) async -> Bool {
        do {
            return try await journal.isSpent(link.url)
        } catch {
            log.error("links.journal", ["reason": .string("\(error)")])
            return false
        }
    }

    private func spend(_ link: IncomingLink, _ isOneTime: Bool) async {
        guard isOneTime else { return }
        do {
            try await journal.spend(link.url, now: time.now)
        } catch {
            log.error("links.journal", ["reason": .string("\(error)")])
        }
    }
}
