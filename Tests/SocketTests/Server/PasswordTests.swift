// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreTesting
import Synchronization
import Testing

/// `nacre admin` at a terminal that is one of the kernel's own, with nobody before it.
@Suite struct PasswordTests {
    private let program = checkout + "/.build/debug/nacre"
    private let password = "long enough, and unseen"

    @Test func `a password is not shown while it is typed, and the terminal shows again afterwards`() async throws {
        let installation = try Installation(program)
        let terminal = try Terminal()
        let admin = try Administrator(
            program, ["users", "add", "zoe", "--email", "zoe@example.org"], installation, terminal)
        try await until { admin.said.contains("password: ") }
        #expect(!terminal.shows)
        terminal.type(password + "\n")
        try await until { admin.said.contains("once more: ") }
        terminal.type(password + "\n")
        #expect(await admin.status == 0, "\(admin.said)")
        #expect(terminal.shows)
        let seen = terminal.output
        #expect(!seen.contains("unseen") && seen.contains("added"), "\(seen)")
        #expect(!admin.said.contains("unseen"))
    }

    @Test func `who types two different passwords changes nothing`() async throws {
        let installation = try Installation(program)
        let terminal = try Terminal()
        let admin = try Administrator(
            program, ["users", "add", "zoe", "--email", "zoe@example.org"], installation, terminal)
        try await until { admin.said.contains("password: ") }
        terminal.type(password + "\n")
        try await until { admin.said.contains("once more: ") }
        terminal.type("something else\n")
        #expect(await admin.status == 1)
        #expect(admin.said.contains("differ"))
        #expect(terminal.shows)
    }

    @Test(
        "A signal while a password is typed leaves a terminal that shows",
        arguments: [SIGINT, SIGTERM, SIGHUP, SIGQUIT])
    func signal(_ number: Int32) async throws {
        let installation = try Installation(program)
        let terminal = try Terminal()
        let admin = try Administrator(
            program, ["users", "add", "zoe", "--email", "zoe@example.org"], installation, terminal)
        try await until { admin.said.contains("password: ") }
        terminal.type(password + "\n")
        // Not before it has been read: what waits in the terminal would be shown by it, rightly.
        try await until { admin.said.contains("once more: ") }
        #expect(!terminal.shows)
        admin.send(number)
        let status = await admin.status
        #expect(status == number || status == 128 + number)
        #expect(terminal.shows)
        #expect(!terminal.output.contains("unseen"))
    }

    @Test func `a process that is stopped shows again, and hides again when it goes on`() async throws {
        let installation = try Installation(program)
        let terminal = try Terminal()
        let admin = try Administrator(
            program, ["users", "add", "zoe", "--email", "zoe@example.org"], installation, terminal)
        try await until { admin.said.contains("password: ") }
        admin.send(SIGTSTP)
        try await until { admin.isStopped }
        #expect(terminal.shows)
        admin.send(SIGCONT)
        try await until { !terminal.shows }
        admin.send(SIGTERM)
        _ = await admin.status
        #expect(terminal.shows)
    }

    @Test func `from a pipe it is the first line, without a question`() async throws {
        let installation = try Installation(program)
        let words = ["users", "add", "zoe", "--email", "zoe@example.org"]
        let admin = try Administrator(program, words, installation, input: password + "\nmore\n")
        #expect(await admin.status == 0, "\(admin.said)")
        #expect(!admin.said.contains("password:"))
        let none = try Administrator(program, ["users", "set-password", "zoe"], installation, input: "")
        #expect(await none.status == 2)
        #expect(none.said.contains("one line"))
    }
}

/// A data folder that is ready.
private final class Installation: Sendable {
    let data = NSTemporaryDirectory() + "nacre-password-\(UUID().uuidString)"

    init(_ program: String) throws {
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = ["admin", "migrate", "--data", data]
        process.environment = ["NACRE_ENV": "development", "PATH": "/usr/bin:/bin"]
        process.currentDirectoryURL = URL(filePath: "/")
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
    }

    deinit { try? FileManager.default.removeItem(atPath: data) }
}

/// Both ends of a pseudo-terminal.
private final class Terminal: Sendable {
    private let keyboard: Int32
    let device: Int32
    private let shown = Mutex("")

    init() throws {
        keyboard = open("/dev/ptmx", O_RDWR | O_NOCTTY)
        try #require(keyboard >= 0)
        var (locked, number): (Int32, UInt32) = (0, 0)
        // TIOCSPTLCK and TIOCGPTN of ioctl_tty(2), which Swift does not see as numbers.
        try #require(ioctl(keyboard, 0x4004_5431, &locked) == 0 && ioctl(keyboard, 0x8004_5430, &number) == 0)
        device = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY)
        try #require(device >= 0)
        _ = fcntl(keyboard, F_SETFL, O_NONBLOCK)
        _ = fcntl(keyboard, F_SETFD, FD_CLOEXEC)
    }

    deinit {
        close(keyboard)
        close(device)
    }

    /// Whether it shows what is typed.
    var shows: Bool {
        var settings = termios()
        return tcgetattr(device, &settings) == 0 && settings.c_lflag & tcflag_t(ECHO) != 0
    }

    func type(_ text: String) {
        _ = text.utf8.withContiguousStorageIfAvailable { write(keyboard, $0.baseAddress, $0.count) }
    }

    /// Everything on it so far.
    var output: String {
        shown.withLock { shown in
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = read(keyboard, &buffer, buffer.count)
                guard count > 0 else { return shown }
                shown += String(decoding: buffer[..<count], as: UTF8.self)
            }
        }
    }
}

/// A running `nacre admin`.
private final class Administrator: Sendable {
    private let process: Process
    private let text = Mutex("")
    private let ended: Task<Int32, Never>
    private let errors = Pipe()

    init(
        _ program: String, _ words: [String], _ installation: Installation, _ terminal: Terminal? = nil,
        input: String = ""
    ) throws {
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = ["admin"] + words + ["--data", installation.data]
        process.environment = ["NACRE_ENV": "development", "PATH": "/usr/bin:/bin"]
        process.currentDirectoryURL = URL(filePath: "/")
        if let terminal {
            process.standardInput = FileHandle(fileDescriptor: terminal.device, closeOnDealloc: false)
            process.standardOutput = FileHandle(fileDescriptor: terminal.device, closeOnDealloc: false)
        } else {
            let pipe = Pipe()
            try pipe.fileHandleForWriting.write(contentsOf: Data(input.utf8))
            try pipe.fileHandleForWriting.close()
            process.standardInput = pipe
            process.standardOutput = FileHandle.nullDevice
        }
        process.standardError = errors
        let (stream, end) = AsyncStream<Int32>.makeStream()
        process.terminationHandler = { process in
            end.yield(process.terminationStatus)
            end.finish()
        }
        let (words, silent) = AsyncStream<Void>.makeStream()
        self.process = process
        ended = Task {
            var status: Int32 = -1
            for await code in stream { status = code }
            // What it said last may be read after its end.
            for await _ in words {}
            return status
        }
        try process.run()
        // Read on a thread of its own: a readability handler may still be watching a descriptor that is closed already.
        let said = errors.fileHandleForReading
        Thread.detachNewThread { [weak self] in
            while case let data = said.availableData, !data.isEmpty {
                self?.text.withLock { $0 += String(decoding: data, as: UTF8.self) }
            }
            silent.finish()
        }
    }

    deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

    /// What it has said on standard error.
    var said: String { text.withLock { $0 } }

    /// Its exit status, or the signal that ended it.
    var status: Int32 { get async { await ended.value } }

    /// Whether it stands still by a signal (proc(5)).
    var isStopped: Bool {
        let text = (try? String(contentsOfFile: "/proc/\(process.processIdentifier)/stat", encoding: .utf8)) ?? ""
        return text.split(separator: ")").last?.hasPrefix(" T") == true
    }

    func send(_ number: Int32) { kill(process.processIdentifier, number) }
}
