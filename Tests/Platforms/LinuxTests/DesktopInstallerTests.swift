// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import Foundation
    import Glibc
    import NacreCore
    import Testing

    @testable import NacreLinux

    @Suite("Installing the desktop entry")
    struct DesktopInstallerTests {
        private let home: String

        init() {
            var template = Array("/tmp/nacre-linux-XXXXXX\0".utf8.map { CChar(bitPattern: $0) })
            mkdtemp(&template)
            home = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        }

        private func write(_ text: String, to path: String) {
            let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
            _ = Array(text.utf8).withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            close(file)
        }

        @Test("An entry that is not ours is left alone, and the error says what to do")
        func foreign() async throws {
            mkdir(home + "/applications", 0o700)
            let file = home + "/applications/org.example.mail.desktop"
            write("[Desktop Entry]\nType=Application\nName=Packaged\nExec=mail\n", to: file)
            let entry = try DesktopEntry.forDevelopment(
                applicationID: "org.example.mail", name: "Mail", schemes: [], program: "/p", folder: "/f")
            let error = await #expect(throws: NacreError.self) {
                _ = try await DesktopInstaller(dataHome: home).install(entry)
            }
            #expect(error?.code == "desktop.foreign")
            #expect(error?.message.contains(file) == true)
            #expect(LinuxFiles.text(file)?.contains("Packaged") == true)
        }

        @Test("The entry is written once, and again only when it changes")
        func twice() async throws {
            let installer = DesktopInstaller(dataHome: home)
            let entry = try DesktopEntry.forDevelopment(
                applicationID: "org.example.mail", name: "Mail", schemes: [], program: "/p", folder: "/f")
            #expect(try await installer.install(entry).first?.hasPrefix("Wrote ") == true)
            #expect(LinuxFiles.text(home + "/applications/org.example.mail.desktop") == entry.text)
            #expect(try await installer.install(entry) == [])
            let moved = try DesktopEntry.forDevelopment(
                applicationID: "org.example.mail", name: "Mail", schemes: [], program: "/p", folder: "/g")
            #expect(try await installer.install(moved).isEmpty == false)
        }

        @Test("A folder that cannot be written is said")
        func unwritable() async throws {
            let entry = try DesktopEntry.forDevelopment(
                applicationID: "org.example.mail", name: "Mail", schemes: [], program: "/p", folder: "/f")
            let error = await #expect(throws: NacreError.self) {
                _ = try await DesktopInstaller(dataHome: "/proc/nowhere").install(entry)
            }
            #expect(error?.code == "desktop.write_failed")
        }
    }

    @Suite("The system's browser")
    struct LinuxBrowserTests {
        @Test(
            "Only addresses of the outside leave the app",
            arguments: [
                "file:///etc/passwd", "javascript:alert(1)", "stmessages://auth?error=x", "", "https",
                "https://example.org/\nfile:///etc/passwd", "https://example.org/ x", "data:text/html,x",
            ])
        func refused(_ url: String) async {
            let error = await #expect(throws: NacreError.self) { try await LinuxBrowser(sandboxed: false).open(url) }
            #expect(error?.code == "browser.refused")
        }
    }

    @Suite("A thread with a main context")
    struct GLibThreadTests {
        private actor Worker {
            nonisolated let thread: GLibThread
            nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }
            private var seen: Set<UInt> = []

            init(_ name: String = "test") { thread = GLibThread(name: name) }

            func note() async -> Int {
                seen.insert(UInt(pthread_self()))
                try? await Task.sleep(for: .milliseconds(1))
                seen.insert(UInt(pthread_self()))
                return seen.count
            }
        }

        @Test("An actor stays on its thread, before and after waiting")
        func oneThread() async {
            let worker = Worker()
            await withTaskGroup(of: Int.self) { group in
                for _ in 0..<50 { group.addTask { await worker.note() } }
                for await count in group { #expect(count == 1) }
            }
        }

        @Test("Its thread ends with it")
        func ends() async throws {
            // By their name: the other suites run beside this one and have threads, too.
            let name = "nacre-ends"
            func threads() -> Int {
                let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
                return tasks.count { LinuxFiles.text("/proc/self/task/\($0)/comm")?.hasPrefix(name) == true }
            }
            var most = 0
            for _ in 0..<100 {
                let worker = Worker(name)
                _ = await worker.note()
                // Counted while it is there: it may be gone the moment nobody holds it.
                most = max(most, withExtendedLifetime(worker) { threads() })
            }
            for _ in 0..<3000 where threads() > 0 { try await Task.sleep(for: .milliseconds(20)) }
            #expect(most > 0 && threads() == 0)
        }
    }
#endif
