// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreLinks
import NacrePorts
import NacreSQLite
import Synchronization
import Testing

/// One run of the app over a store that outlives it.
private final class Run: Sendable {
    private struct State {
        var captured: [String] = []
        var page: [String] = []
        var fallen: [String] = []
        var verdict = LinkFallback.route
    }
    private let state = Mutex(State())

    var captured: [String] { state.withLock { $0.captured } }
    var page: [String] { state.withLock { $0.page } }
    var fallen: [String] { state.withLock { $0.fallen } }
    func note(_ url: String) { state.withLock { $0.captured.append(url) } }
    func decide(_ verdict: LinkFallback) { state.withLock { $0.verdict = verdict } }

    func dispatcher(_ store: SQLiteStore) async throws -> LinkDispatcher {
        let journal = try await LinkJournal(store, now: SystemTime().now)
        return LinkDispatcher(
            schemes: ["stmessages"], journal: journal, time: SystemTime(), random: SystemRandom(), log: .none,
            fallback: { [self] link, _ in
                state.withLock { state in
                    state.fallen.append(link.url)
                    return state.verdict
                }
            },
            deliver: { [self] link in state.withLock { $0.page.append(link.url) } })
    }
}

@Suite struct LinkDispatcherTests {
    private let run = Run()
    private let token = "stmessages://auth?token=abc&flow=1"
    private let route = "stmessages://thread/5"

    private func store() throws -> SQLiteStore { try SQLiteStore(path: ":memory:") }

    @Test("HO-9: a running flow captures links and releases them by handle")
    func captures() async throws {
        let links = try await run.dispatcher(store())
        await links.start()
        let handle = await links.capture { [run] link in
            run.note(link.url)
            return true
        }
        await links.receive(token)
        #expect(run.captured == [token])
        await links.release(handle)
        await links.receive("stmessages://auth?token=def&flow=1")
        #expect(run.captured == [token])
        #expect(run.fallen == ["stmessages://auth?token=def&flow=1"])
    }

    @Test("HO-9: a stale release is a no-op")
    func staleRelease() async throws {
        let links = try await run.dispatcher(store())
        await links.start()
        let first = await links.capture { _ in true }
        await links.release(first)
        _ = await links.capture { [run] link in
            run.note(link.url)
            return true
        }
        await links.release(first)
        await links.release(LinkCaptureHandle(id: 99))
        await links.receive(token)
        #expect(run.captured == [token])
    }

    @Test("The newest capture is asked first; one that declines passes the link on")
    func order() async throws {
        let links = try await run.dispatcher(store())
        await links.start()
        _ = await links.capture { [run] _ in
            run.note("older")
            return true
        }
        _ = await links.capture { [run] _ in
            run.note("newer")
            return false
        }
        await links.receive(token)
        #expect(run.captured == ["newer", "older"])
    }

    @Test("HO-9: a consumed link that comes again is refused, in this process and in the next")
    func replay() async throws {
        let store = try store()
        let links = try await run.dispatcher(store)
        await links.start()
        run.decide(.consumed)
        await links.receive(token)
        await links.receive(token)
        #expect(run.fallen == [token])
        let next = try await run.dispatcher(store)
        await next.start()
        await next.receive(token)
        #expect(run.fallen == [token])
    }

    @Test("A link that nothing consumed may come again: the browser's page has a button to tap")
    func again() async throws {
        let links = try await run.dispatcher(store())
        await links.start()
        run.decide(.drop)
        await links.receive(token)
        run.decide(.consumed)
        await links.receive(token)
        #expect(run.fallen == [token, token])
    }

    @Test("HO-9: no token is in the journal")
    func digestOnly() async throws {
        let store = try store()
        let links = try await run.dispatcher(store)
        await links.start()
        run.decide(.consumed)
        await links.receive(token)
        let rows = try await store.run { connection in
            try connection.query("SELECT digest FROM spent_link").map { "\($0.values)" }
                + connection.query("SELECT url FROM waiting_link").map { "\($0.values)" }
        }
        #expect(rows.count == 1)
        #expect(!rows.joined().contains("abc"))
    }

    @Test("HO-9: a link that started the process is delivered once, after the page is ready")
    func coldStart() async throws {
        let links = try await run.dispatcher(store())
        await links.receive(route)  // the shell hands it over before anything is resumed
        #expect(run.fallen.isEmpty)
        await links.start()
        #expect(run.page.isEmpty)
        await links.pageReady()
        await links.pageStarted()
        await links.pageReady()
        #expect(run.page == [route])
    }

    @Test("A link for the page survives a kill before the page was ready, and is delivered once")
    func killed() async throws {
        let store = try store()
        let first = try await run.dispatcher(store)
        await first.start()
        await first.receive(route)
        let second = try await run.dispatcher(store)
        await second.start()
        await second.pageReady()
        #expect(run.page == [route])
        let third = try await run.dispatcher(store)
        await third.start()
        await third.pageReady()
        #expect(run.page == [route])
    }

    @Test("The same place may be opened twice: only what was consumed is remembered")
    func sameRoute() async throws {
        let links = try await run.dispatcher(store())
        await links.start()
        await links.pageReady()
        await links.receive(route)
        await links.receive(route)
        #expect(run.page == [route, route])
    }

    @Test("HO-9: foreign and oversized links reach neither a flow nor the page")
    func refused() async throws {
        let links = try await run.dispatcher(store())
        await links.start()
        await links.pageReady()
        _ = await links.capture { [run] link in
            run.note(link.url)
            return true
        }
        await links.receive("other://auth?token=abc")
        await links.receive("stmessages://auth?token=" + String(repeating: "a", count: 1 << 20))
        #expect(run.captured.isEmpty && run.page.isEmpty && run.fallen.isEmpty)
    }

    @Test("A flood of links fills neither the memory nor the journal, before the start and while no page listens")
    func flood() async throws {
        let store = try store()
        let links = try await run.dispatcher(store)
        for number in 0..<100 { await links.receive("stmessages://early/\(number)") }
        await links.start()
        #expect(run.fallen.count == 32)
        for number in 0..<100 { await links.receive("stmessages://late/\(number)") }
        let kept = try await store.run { connection in try connection.query("SELECT id FROM waiting_link").count }
        #expect(kept == 32)
        await links.pageReady()
        #expect(run.page == (68..<100).map { "stmessages://late/\($0)" })
    }
}
