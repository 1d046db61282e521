// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacrePorts
import NacreSecrets
import Synchronization
import Testing

/// A store in any state.
private final class FakeStore: SecretStore {
    let kind: SecretStoreKind
    private let state: Mutex<SecretStoreAvailability>
    private let memory = MemoryStore()

    init(_ kind: SecretStoreKind, _ state: SecretStoreAvailability) {
        self.kind = kind
        self.state = Mutex(state)
    }
    func become(_ next: SecretStoreAvailability) { state.withLock { $0 = next } }
    private func check() throws(NacreError) {
        switch state.withLock({ $0 }) {
        case .available: return
        case .locked: throw NacreError("secrets.locked", "Unlock the keyring.")
        case .absent: throw NacreError("secrets.absent", "No keyring.")
        }
    }
    func availability() async -> SecretStoreAvailability { state.withLock { $0 } }
    func read(_ name: String) async throws(NacreError) -> [UInt8]? {
        try check()
        return try await memory.read(name)
    }
    func write(_ name: String, _ value: [UInt8]) async throws(NacreError) {
        try check()
        try await memory.write(name, value)
    }
    func remove(_ name: String) async throws(NacreError) {
        try check()
        try await memory.remove(name)
    }
    func unlock() async -> Bool {
        state.withLock { state in
            if state == .locked { state = .available }
            return state == .available
        }
    }
}

@Suite struct SecretStoreChainTests {
    static let rows: [(portal: SecretStoreAvailability, service: SecretStoreAvailability, chosen: SecretStoreKind)] = [
        (.available, .available, .portal), (.absent, .available, .secretService), (.absent, .absent, .memory),
        (.locked, .available, .portal), (.absent, .locked, .secretService),
    ]

    @Test("SE-1: portal, then Secret Service, then the next; and it says which", arguments: rows)
    func order(portal: SecretStoreAvailability, service: SecretStoreAvailability, chosen: SecretStoreKind) async {
        let chain = SecretStoreChain([
            FakeStore(.portal, portal), FakeStore(.secretService, service), MemoryStore(),
        ])
        _ = await chain.availability()
        #expect(chain.kind == chosen)
    }

    @Test("SE-1: a locked keyring stays locked; nothing falls through to memory")
    func locked() async throws {
        let service = FakeStore(.secretService, .locked)
        let chain = SecretStoreChain([FakeStore(.portal, .absent), service, MemoryStore()])
        #expect(await chain.availability() == .locked)
        var code: NacreError.Code?
        do throws(NacreError) { try await chain.write("session", [1]) } catch { code = error.code }
        #expect(code == "secrets.locked")
        #expect(chain.kind == .secretService)
        #expect(await chain.unlock())
        try await chain.write("session", [1])
        #expect(try await service.read("session") == [1])
    }

    @Test("The choice holds: a keyring that goes away is an error, not another store")
    func sticky() async throws {
        let service = FakeStore(.secretService, .available)
        let chain = SecretStoreChain([service, MemoryStore()])
        try await chain.write("session", [1])
        service.become(.absent)
        var code: NacreError.Code?
        do throws(NacreError) { _ = try await chain.read("session") } catch { code = error.code }
        #expect(code == "secrets.absent")
    }

    @Test("SE-1: a keyring that kept the secrets before is waited for; one that did not is not")
    func patience() async {
        let service = FakeStore(.secretService, .absent)
        let waiting = SecretStoreChain([service, MemoryStore()], usedBefore: .secretService)
        async let available = waiting.availability()
        try? await Task.sleep(for: .milliseconds(300))
        service.become(.available)
        #expect(await available == .available)
        #expect(waiting.kind == .secretService)
        let other = SecretStoreChain([FakeStore(.secretService, .absent), MemoryStore()], usedBefore: .passphrase)
        _ = await other.availability()
        #expect(other.kind == .memory)
    }

    @Test("Nothing at all is an error that says what to do")
    func nothing() async {
        let chain = SecretStoreChain([FakeStore(.portal, .absent)])
        #expect(await chain.availability() == .absent)
        var code: NacreError.Code?
        do throws(NacreError) { _ = try await chain.read("session") } catch { code = error.code }
        #expect(code == "secrets.absent")
    }
}
