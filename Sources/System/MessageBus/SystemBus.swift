import Glibc
import Synchronization
import Threads

/// What hears from the bus. Called in the bus's thread, one at a time: nothing in here may wait.
package protocol BusListener: AnyObject, Sendable {
    func busConnected()
    func busLost(_ reason: SystemError)
    func busSignalled(_ signal: BusNotice)
    func busCalled(_ call: BusNotice) -> BusAnswer
}

/// The system bus, or the user's: one connection, owned by one thread, made again whenever it is lost.
package final class SystemBus: Sendable {
    private typealias Answer = Result<[BusValue], BusError>

    private struct Request {
        var number: UInt64
        var call: BusCall
        var timeout: Duration
    }

    private enum Post: Sendable {
        case call(BusCall, whenDone: @Sendable () -> Void)
        case signal(BusSignal)

        var whenDone: @Sendable () -> Void {
            if case .call(_, let whenDone) = self { whenDone } else { {} }
        }
    }

    private struct Mailbox {
        var isStopped = false
        var isConnected = false
        var lastNumber: UInt64 = 0
        /// Not yet taken by the thread. At most one per waiting caller.
        var requests: [Request] = []
        /// Calls that nobody waits for and signals, not yet taken by the thread.
        var posts: [Post] = []
        var waiting: [UInt64: CheckedContinuation<Answer, Never>] = [:]
        var whenEnded: CheckedContinuation<Void, Never>?
    }

    private let mailbox = Mutex(Mailbox())
    private let wake: WakeFlag
    private let kind: BusKind
    private let pauses: [Duration]

    /// - Parameter pauses: how long to wait before the first, second … attempt to connect again; the last one repeats.
    package init(
        _ kind: BusKind = .system,
        pauses: [Duration] = [.milliseconds(500), .seconds(1), .seconds(2), .seconds(5), .seconds(15), .seconds(60)]
    ) throws(SystemError) {
        self.kind = kind
        self.pauses = pauses
        wake = try WakeFlag()
    }

    /// Connects and stays connected until the task is cancelled; the listener hears what happens, also that no thread
    /// could be started. To be called once.
    package func run(_ listener: any BusListener) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isStopped = mailbox.withLock { mailbox in
                    if !mailbox.isStopped { mailbox.whenEnded = continuation }
                    return mailbox.isStopped
                }
                if isStopped { return continuation.resume() }
                do throws(SystemError) {
                    try OwnedThread.startWaiting(kind == .system ? "system-bus" : "session-bus") { self.work(listener) }
                } catch {
                    listener.busLost(error)
                    end()
                }
            }
        } onCancel: {
            mailbox.withLock { $0.isStopped = true }
            wake.raise()
        }
    }

    /// Calls a method and gives what it answers with.
    ///
    /// - Throws: `BusError`; on cancellation `CancellationError`, and the call may have been made all the same.
    package func call(_ call: BusCall, timeout: Duration = .seconds(25)) async throws -> [BusValue] {
        let number = mailbox.withLock { mailbox in
            mailbox.lastNumber += 1
            return mailbox.lastNumber
        }
        let answer = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isTaken = mailbox.withLock { mailbox in
                    guard mailbox.isConnected, !Task.isCancelled else { return false }
                    mailbox.waiting[number] = continuation
                    mailbox.requests.append(Request(number: number, call: call, timeout: timeout))
                    return true
                }
                if isTaken { wake.raise() } else { continuation.resume(returning: .failure(Self.disconnected)) }
            }
        } onCancel: {
            complete(number, .failure(Self.disconnected))
        }
        try Task.checkCancellation()
        return try answer.get()
    }

    /// Most calls of `post` and signals that wait for the thread.
    private static let postLimit = 64
    /// How many messages are taken in turn before the thread looks for what is to be sent, or whether it is to end: another
    /// program can send without a pause.
    private static let arrivalLimit = 256

    /// Calls a method without waiting for it; false when the bus is gone or has enough to do.
    ///
    /// - Parameter whenDone: called in the bus's thread when the answer is there, or will not come. Not called when this
    ///   gives false.
    @discardableResult
    package func post(_ call: BusCall, whenDone: @escaping @Sendable () -> Void = {}) -> Bool {
        put(.call(call, whenDone: whenDone))
    }

    /// Sends a signal without waiting for it; false when the bus is gone or has enough to do.
    @discardableResult
    package func emit(_ signal: BusSignal) -> Bool { put(.signal(signal)) }

    private func put(_ post: Post) -> Bool {
        let isTaken = mailbox.withLock { mailbox in
            guard mailbox.isConnected, mailbox.posts.count < Self.postLimit else { return false }
            mailbox.posts.append(post)
            return true
        }
        if isTaken { wake.raise() }
        return isTaken
    }

    private static let disconnected = BusError(.disconnected, "there is no connection to the bus")

    private func complete(_ number: UInt64, _ answer: Answer) {
        mailbox.withLock { $0.waiting.removeValue(forKey: number) }?.resume(returning: answer)
    }

    private func end() {
        mailbox.withLock { $0.whenEnded.take() }?.resume()
    }

    // MARK: the thread

    private func work(_ listener: any BusListener) {
        var attempt = 0
        while !mailbox.withLock({ $0.isStopped }) {
            let start = ContinuousClock.now
            do throws(SystemError) {
                let connection = try BusConnection(kind)
                mailbox.withLock { $0.isConnected = true }
                listener.busConnected()
                try serve(connection, listener)
            } catch {
                forgetCalls()
                listener.busLost(error)
            }
            // A connection that lasted begins the pauses again.
            if ContinuousClock.now - start > .seconds(60) { attempt = 0 }
            pause(pauses.isEmpty ? .seconds(60) : pauses[min(attempt, pauses.count - 1)])
            attempt += 1
        }
        forgetCalls()
        end()
    }

    private func forgetCalls() {
        let (waiting, posts) = mailbox.withLock { mailbox in
            mailbox.isConnected = false
            mailbox.requests = []
            defer {
                mailbox.waiting = [:]
                mailbox.posts = []
            }
            return (mailbox.waiting, mailbox.posts)
        }
        for continuation in waiting.values { continuation.resume(returning: .failure(Self.disconnected)) }
        for post in posts { post.whenDone() }
    }

    private func pause(_ duration: Duration) {
        let deadline = ContinuousClock.now + duration
        while !mailbox.withLock({ $0.isStopped }), ContinuousClock.now < deadline {
            var poll = Poll()
            poll.add(wake.descriptor.number, .readable)
            _ = poll.wait(deadline - ContinuousClock.now)
            wake.lower()
        }
    }

    /// Returns when the bus is not wanted any more; throws when the connection is lost.
    private func serve(_ connection: borrowing BusConnection, _ listener: any BusListener) throws(SystemError) {
        var pending = PendingCalls()
        // By cookie. The bus itself answers for a program that goes, so each gets an answer or ends with the bus.
        var posted: [UInt64: @Sendable () -> Void] = [:]
        defer { for whenDone in posted.values { whenDone() } }
        while true {
            wake.lower()
            let (requests, posts, isStopped) = mailbox.withLock { mailbox in
                defer {
                    mailbox.requests = []
                    mailbox.posts = []
                }
                return (mailbox.requests, mailbox.posts, mailbox.isStopped)
            }
            if isStopped { return }
            for post in posts {
                do throws(SystemError) {
                    switch post {
                    case .call(let call, let whenDone): posted[try connection.send(call)] = whenDone
                    case .signal(let signal): try connection.emit(signal)
                    }
                } catch {
                    post.whenDone()
                }
            }
            for request in requests {
                do throws(SystemError) {
                    let cookie = try connection.send(request.call)
                    pending.add(request.number, cookie: cookie, deadline: ContinuousClock.now + request.timeout)
                } catch {
                    complete(request.number, .failure(BusError(.invalid, error.description)))
                }
            }
            var arrivals = 0
            // What sd-bus has read and not handed out makes `limit` 0.
            while arrivals < Self.arrivalLimit, let arrival = try connection.next() {
                arrivals += 1
                if case .reply(let cookie, _) = arrival, let whenDone = posted.removeValue(forKey: cookie) {
                    whenDone()
                } else {
                    try take(arrival, connection, listener, &pending)
                }
            }
            for number in pending.expire(at: ContinuousClock.now) {
                complete(number, .failure(BusError(.timedOut, "no answer in time")))
            }
            var poll = Poll()
            poll.add(connection.descriptor, connection.events)
            poll.add(wake.descriptor.number, .readable)
            _ = poll.wait(limit(connection, pending))
        }
    }

    private func take(
        _ arrival: BusConnection.Arrival, _ connection: borrowing BusConnection, _ listener: any BusListener,
        _ pending: inout PendingCalls
    ) throws(SystemError) {
        switch arrival {
        case .signal(let notice): listener.busSignalled(notice)
        case .call(let notice, let handle): try connection.answer(handle, listener.busCalled(notice))
        case .reply(let cookie, let result):
            if let number = pending.remove(cookie: cookie) { complete(number, result) }
        case .none: break
        }
    }

    /// How long the thread may wait: until a call has no answer in time, or sd-bus has something to do.
    private func limit(_ connection: borrowing BusConnection, _ pending: PendingCalls) -> Duration? {
        var limit = pending.nextDeadline.map { $0 - ContinuousClock.now }
        if let deadline = connection.deadline {
            var now = timespec()
            clock_gettime(CLOCK_MONOTONIC, &now)
            let microseconds = UInt64(max(0, now.tv_sec)) * 1_000_000 + UInt64(max(0, now.tv_nsec)) / 1000
            let rest = Duration.microseconds(deadline > microseconds ? Int64(clamping: deadline - microseconds) : 0)
            limit = min(limit ?? rest, rest)
        }
        return limit
    }
}

/// The calls that were sent and have no answer yet.
struct PendingCalls {
    private var calls: [UInt64: (number: UInt64, deadline: ContinuousClock.Instant)] = [:]

    var nextDeadline: ContinuousClock.Instant? { calls.values.map(\.deadline).min() }

    mutating func add(_ number: UInt64, cookie: UInt64, deadline: ContinuousClock.Instant) {
        calls[cookie] = (number, deadline)
    }

    mutating func remove(cookie: UInt64) -> UInt64? { calls.removeValue(forKey: cookie)?.number }

    /// Takes out the calls whose time is over.
    mutating func expire(at now: ContinuousClock.Instant) -> [UInt64] {
        let expired = calls.filter { $0.value.deadline <= now }
        for cookie in expired.keys { calls[cookie] = nil }
        return expired.values.map(\.number)
    }
}
