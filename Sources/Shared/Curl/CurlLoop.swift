// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import CCurl
import NacreCore
import NacreHTTP
import Synchronization

/// The one thread that touches curl handles. Others leave work in a queue and wake it.
final class CurlLoop: Sendable {
    private struct Inbox {
        var jobs: [@Sendable (CurlThread) -> Void] = []
        var isStopped = false
    }

    private let inbox = Mutex(Inbox())
    // curl_multi_wakeup is the only call that other threads make on it.
    nonisolated(unsafe) private let multi: UnsafeMutableRawPointer

    init() {
        // 3 is CURL_GLOBAL_ALL, a composed macro; repeated calls only count.
        curl_global_init(3)
        guard let multi = curl_multi_init() else { preconditionFailure("libcurl has no memory for a multi handle") }
        // By default curl keeps four times as many connections as there are transfers just then: the last of a burst would
        // close what the next burst needs.
        nacre_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, 64)
        self.multi = multi
    }

    func start() {
        let retained = Unmanaged.passRetained(self).toOpaque()
        var thread = pthread_t()
        let status = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<CurlLoop>.fromOpaque(argument).takeRetainedValue().work()
                return nil
            }, retained)
        precondition(status == 0, "the system refuses another thread")
        pthread_detach(thread)
    }

    /// Runs `job` on the thread, soon and in order.
    func run(_ job: @escaping @Sendable (CurlThread) -> Void) {
        // The thread takes all jobs at once, so only the first of them has to wake it.
        let isFirst = inbox.withLock { inbox in
            inbox.jobs.append(job)
            return inbox.jobs.count == 1
        }
        if isFirst { curl_multi_wakeup(multi) }
    }

    /// Ends the thread; transfers under way fail.
    func stop() {
        inbox.withLock { $0.isStopped = true }
        curl_multi_wakeup(multi)
    }

    private func work() {
        let thread = CurlThread(multi: multi)
        while true {
            let (jobs, isStopped) = inbox.withLock { inbox in
                defer { inbox.jobs = [] }
                return (inbox.jobs, inbox.isStopped)
            }
            for job in jobs { job(thread) }
            thread.perform()
            if isStopped, jobs.isEmpty { break }
            // A job that came meanwhile ends the wait at once.
            curl_multi_poll(multi, nil, 0, isStopped ? 0 : 1000, nil)
        }
        thread.failAll()
        curl_multi_cleanup(multi)
    }
}

/// State that lives on the loop's thread only; it is handed to jobs and never leaves them.
final class CurlThread {
    private let multi: UnsafeMutableRawPointer
    private var transfers: [UnsafeMutableRawPointer: CurlTransfer] = [:]

    init(multi: UnsafeMutableRawPointer) { self.multi = multi }

    func add(_ transfer: CurlTransfer, _ continuation: CheckedContinuation<HTTPResponse, any Error>) {
        guard let handle = transfer.begin(continuation) else { return }
        transfers[handle] = transfer
        guard curl_multi_add_handle(multi, handle) == CURLM_OK else {
            finish(handle, CURLE_FAILED_INIT)
            return
        }
    }

    func cancel(_ transfer: CurlTransfer) {
        transfer.markCancelled()
        guard let handle = transfer.handle, transfers[handle] != nil else { return }
        finish(handle, CURLE_ABORTED_BY_CALLBACK)
    }

    func resume(_ transfer: CurlTransfer) {
        guard let handle = transfer.handle, transfers[handle] != nil else { return }
        // 0 is CURLPAUSE_CONT: both directions go on.
        curl_easy_pause(handle, 0)
    }

    func perform() {
        var running: Int32 = 0
        curl_multi_perform(multi, &running)
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let handle = message.pointee.easy_handle else { continue }
            finish(handle, nacre_curl_message_result(message))
        }
        let now = ContinuousClock.now
        for (handle, transfer) in transfers where transfer.isOverdue(now) { finish(handle, CURLE_OPERATION_TIMEDOUT) }
    }

    func failAll() {
        for handle in Array(transfers.keys) { finish(handle, CURLE_ABORTED_BY_CALLBACK) }
    }

    private func finish(_ handle: UnsafeMutableRawPointer, _ result: CURLcode) {
        guard let transfer = transfers.removeValue(forKey: handle) else { return }
        curl_multi_remove_handle(multi, handle)
        transfer.end(result)
    }
}
