// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

// The only file of this module that asks which system it is built for.
#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    // Both declare the types of threads, and the one a file of this module loads first is asked for.
    import CLinux
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#else
    import Darwin
#endif

/// What the standard library has no word for.
enum Platform {
    /// The wall clock in milliseconds.
    static func wallClock() -> Instant {
        Instant(milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)))
    }

    /// The shortest decimal text of a finite number, as JSON wants it.
    static func decimal(_ value: Double) -> String {
        if value == value.rounded(), abs(value) < 1e15 { return String(Int64(value)) + ".0" }
        return "\(value)"
    }
}

extension Platform {
    /// Starts a detached thread that runs `body`.
    static func startThread(_ body: @escaping @Sendable () -> Void) {
        let box = Unmanaged.passRetained(ThreadBody(body))
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        defer { pthread_attr_destroy(&attributes) }
        #if canImport(Darwin)
            var thread: pthread_t?
            let result = pthread_create(&thread, &attributes, { runThreadBody($0) }, box.toOpaque())
        #else
            var thread = pthread_t()
            let result = pthread_create(&thread, &attributes, { runThreadBody($0) }, box.toOpaque())
        #endif
        precondition(result == 0, "the system gives no more threads (error \(result))")
    }
}

private final class ThreadBody: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

private func runThreadBody(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue().body()
    return nil
}

/// A binary gate on which one thread of its own sleeps; `open` before `wait` is not lost.
///
/// Unchecked: the pthread objects live at fixed addresses for the gate's life and are made for use from several threads.
final class ThreadGate: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var isOpen = false

    init() {
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    func open() {
        pthread_mutex_lock(mutex)
        isOpen = true
        pthread_cond_signal(condition)
        pthread_mutex_unlock(mutex)
    }

    func wait() {
        pthread_mutex_lock(mutex)
        while !isOpen { pthread_cond_wait(condition, mutex) }
        isOpen = false
        pthread_mutex_unlock(mutex)
    }
}

extension Platform {
    /// Writes all bytes to standard error; what cannot be written is lost.
    static func writeToStandardError(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { write(2, $0.baseAddress, $0.count) }
            guard written > 0 else { return }
            rest = rest.dropFirst(written)
        }
    }
}
