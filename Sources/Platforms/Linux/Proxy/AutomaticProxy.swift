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
    /// For how long a script that did not answer is left alone: each try costs seconds of a processor.
    static let rest: Duration = .seconds(60)

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
        let script = try await script(at: address)
        do throws(NacreError) {
            let name = try WebURL(question).origin.host
            return try ProxyScriptAnswer.uris(await host.answer(script: script, url: question, host: name))
        } catch {
            let fault = Self.fault(address, "cannot be used", error)
            if error.code == "proxy.script_silent" {  // guard: proxy-script-rest
                kept = Kept(address: address, script: .failure(fault), at: time.now, lifetime: Self.rest)
            }
            throw fault
        }
    }

    private func script(at address: String) async throws(NacreError) -> String {
        if let kept, kept.address == address, time.now >= kept.at, time.now - kept.at < kept.lifetime {
            return try kept.script.get()
        }
        // A page opens many connections at once; one of them fetches.
        if let running, running.address == address { return try await running.task.value.get() }
        let task = Task { [fetch] () -> Result<String, NacreError> in
            do {
                return .success(String(decoding: try await fetch(address), as: UTF8.self))
            } catch {
                return .failure(Self.fault(address, "cannot be read", error))
            }
        }
        running = (address, task)
        let found = await task.value
        if running?.address == address { running = nil }
        keep(found, address)
        return try kept?.address == address ? kept!.script.get() : found.get()
    }

    private func keep(_ found: Result<String, NacreError>, _ address: String) {
        switch found {
        case .success: kept = Kept(address: address, script: found, at: time.now, lifetime: Self.lifetime)
        case .failure:
            // What was good a while ago still is while its server rests.
            var last = found
            if let kept, kept.address == address, case .success = kept.script { last = kept.script }
            kept = Kept(address: address, script: last, at: time.now, lifetime: Self.patience)
        }
    }

    private static func fault(_ address: String, _ what: String, _ cause: any Error) -> NacreError {
        let reason = (cause as? NacreError)?.message ?? "\(cause)"
        return NacreError(
            "proxy.configuration",
            "The automatic proxy configuration \(Redaction.url(address)) \(what) (\(reason)); check it in the desktop's network settings, or set a proxy by hand.",
            cause: cause)
    }
}

/// From what `FindProxyForURL` answers to GProxyResolver's form.
enum ProxyScriptAnswer {
    /// `PROXY a:3128; SOCKS b:1080; DIRECT` as `http://a:3128`, `socks://b:1080`, `direct://`; nothing is a direct
    /// connection, as the format has it.
    ///
    /// - Throws: `proxy.script` for what names no host.
    static func uris(_ answer: String) throws(NacreError) -> [String] {
        var uris: [String] = []
        for part in answer.split(separator: ";") {
            let words = part.split(whereSeparator: \.isWhitespace)
            guard let kind = words.first?.lowercased() else { continue }
            if kind == "direct" {
                uris.append("direct://")
                continue
            }
            guard words.count == 2, let place = place(words[1]) else {  // guard: proxy-script-answer
                throw NacreError("proxy.script", "its answer \"\(answer.prefix(100))\" names no host and port")
            }
            uris.append("\(kind == "proxy" ? "http" : kind)://\(place)")
        }
        return uris.isEmpty ? ["direct://"] : uris
    }

    /// `host:port` and nothing else: no user, no path.
    private static func place(_ text: Substring) -> String? {
        guard !text.contains(where: { "@/?#\\".contains($0) }), let origin = try? WebURL("http://\(text)/").origin,
            text.split(separator: "]").last?.contains(":") == true
        else { return nil }
        return "\(origin.host):\(origin.port)"
    }
}
