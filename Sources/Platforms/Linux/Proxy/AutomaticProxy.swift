// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
import NacreHTTP

/// Where a proxy configuration's script runs.
package protocol ProxyScriptHost: Sendable {
    /// What `FindProxyForURL` answers.
    ///
    /// - Throws: `proxy.script` with what is wrong with the script, `proxy.script_silent` when it has to be ended; the
    ///   address of it is the caller's to say.
    func answer(script: String, url: String, host: String) async throws(NacreError) -> String
}

/// An automatic proxy configuration (PAC): fetched, kept for a while, and asked.
///
/// What cannot be read or run is an error with the address in it, never a direct connection: whoever set it may have meant
/// that nothing goes out past the proxy.
package actor AutomaticProxy {
    /// Fetches a configuration, past any proxy.
    package typealias Fetch = @Sendable (_ address: String) async throws -> [UInt8]

    /// For how long a configuration is good before it is fetched anew.
    static let lifetime: Duration = .seconds(600)
    /// For how long one that could not be fetched is not asked for again.
    static let patience: Duration = .seconds(5)

    private struct Kept {
        let address: String
        let script: Result<String, NacreError>
        let at: Instant
        let lifetime: Duration
    }

    private let fetch: Fetch
    private let host: any ProxyScriptHost
    private let time: any TimeSource
    private var kept: Kept?
    private var running: (address: String, task: Task<Result<String, NacreError>, Never>)?
    private var silent: (address: String, questions: SilentQuestions)?
    private var asking: [String: Task<Result<[String], NacreError>, Never>] = [:]

    package init(fetch: @escaping Fetch, host: any ProxyScriptHost, time: any TimeSource) {
        self.fetch = fetch
        self.host = host
        self.time = time
    }

    /// The proxies for an origin, in GProxyResolver's form.
    ///
    /// - Parameters:
    ///   - question: the origin with a slash, such as `https://mail.example.org/`.
    ///   - address: the configuration's `http`, `https` or `file` address.
    /// - Throws: `proxy.configuration`.
    package func proxies(for question: String, by address: String) async throws(NacreError) -> [String] {
        // A page opens many connections at once; one of them asks.
        let name = question + " " + address
        if let task = asking[name] { return try await task.value.get() }
        let task = Task { () -> Result<[String], NacreError> in
            let answer = await self.answer(question, address)
            self.asking[name] = nil
            return answer
        }
        asking[name] = task
        return try await task.value.get()
    }

    private func answer(_ question: String, _ address: String) async -> Result<[String], NacreError> {
        let script: String
        switch await self.script(at: address) {
        case .success(let found): script = found
        case .failure(let fault): return .failure(fault)
        }
        if silent?.address != address { silent = (address, SilentQuestions()) }
        if let fault = silent?.questions.fault(for: question, now: time.now) { return .failure(fault) }
        do throws(NacreError) {
            let name = try WebURL(question).origin.host
            let text = try await host.answer(script: script, url: question, host: name)
            if silent?.address == address { silent?.questions.answered() }
            return .success(try ProxyScriptAnswer.uris(text))
        } catch {
            let fault = Self.fault(address, "cannot be used", error)
            if error.code == "proxy.script_silent", silent?.address == address {
                silent?.questions.note(question, fault, now: time.now)
            }
            return .failure(fault)
        }
    }

    private func script(at address: String) async -> Result<String, NacreError> {
        if let kept, kept.address == address, time.now >= kept.at, time.now - kept.at < kept.lifetime {
            return kept.script
        }
        // Also for origins that are asked at once, one fetch; what is kept is decided in it, for all of them.
        if let running, running.address == address { return await running.task.value }
        let task = Task { () -> Result<String, NacreError> in
            let found: Result<String, NacreError>
            do {
                found = .success(String(decoding: try await self.fetch(address), as: UTF8.self))
            } catch {
                found = .failure(Self.fault(address, "cannot be read", error))
            }
            if self.running?.address == address { self.running = nil }
            return self.keep(found, address)
        }
        running = (address, task)
        return await task.value
    }

    private func keep(_ found: Result<String, NacreError>, _ address: String) -> Result<String, NacreError> {
        var script = found
        var lifetime = Self.lifetime
        if case .failure = found {
            lifetime = Self.patience
            // What was good a while ago still is while its server rests.
            if let kept, kept.address == address, case .success = kept.script { script = kept.script }
        }
        kept = Kept(address: address, script: script, at: time.now, lifetime: lifetime)
        return script
    }

    private static func fault(_ address: String, _ what: String, _ cause: any Error) -> NacreError {
        let reason = (cause as? NacreError)?.message ?? "\(cause)"
        return NacreError(
            "proxy.configuration",
            "The automatic proxy configuration \(Redaction.url(address)) \(what) (\(reason)); check it in the desktop's network settings, or set a proxy by hand.",
            cause: cause)
    }
}
