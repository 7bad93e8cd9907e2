import Glibc
import KernelFiles
import LocalSocket
import MountProtocol
import MountRules
import Synchronization
import Threads

/// The connection to the agent: comes back by itself when the agent does. Requests wait for that until their deadline.
final class AgentLink: Sendable {
    struct Answer: Sendable {
        var answer: MountAnswer
        /// Of an opened file; the receiver of the answer closes it.
        var descriptor: CInt?
        /// Of the connection that it came by, and so of the handle in it.
        var generation: Int
    }

    typealias Completion = @Sendable (Result<Answer, MountFailure>) -> Void

    private struct Waiter: Sendable {
        let completion: Completion
        let request: MountRequest
    }

    private struct State {
        var pending = PendingRequests<Waiter>()
        /// What waits for a connection.
        var parked: [UInt64: MountRequest] = [:]
        /// What is said before that.
        var first: [MountRequest] = []
        var socket: LocalSocket?
        /// Counts connections: handles are of one of them.
        var generation = 0
        /// What the agent said of a folder that it does not have, or of a version that it does not speak.
        var refusal: MountFailure?
        var isEnding = false
        /// When `watch` looks again.
        var watchedAt = Duration.zero
    }

    /// Without anything to do; a request with a deadline before that wakes it.
    private static let idlePause = Duration.seconds(3600)

    private let path: String
    private let folder: String
    private let origin: MountOrigin
    private let state = Guarded(State())
    private let numbers = Atomic<UInt64>(1)
    private let report: @Sendable (MountAnswer) -> Void

    /// - Parameter report: is told what the agent says unasked, `welcome` at each connection, and `failed` where an agent refuses a
    ///   mount that another one took; does not block.
    init(
        socket path: String, folder: String, origin: MountOrigin, report: @escaping @Sendable (MountAnswer) -> Void
    ) {
        self.path = path
        self.folder = folder
        self.origin = origin
        self.report = report
    }

    var generation: Int { state.quietly { $0.generation } }

    func start() -> Bool {
        OwnedThread.start("agent-link") { self.stayConnected() } && OwnedThread.start("deadlines") { self.watch() }
    }

    /// Waits for the first connection. Nil if there is one.
    func waitForConnection(atMost limit: Duration) -> MountFailure? {
        let end = Clock.now + limit
        while true {
            let (isConnected, refusal) = state.with { ($0.socket != nil, $0.refusal) }
            if isConnected { return nil }
            if let refusal { return refusal }
            let rest = end - Clock.now
            guard rest > .zero else { return .noAgent }
            state.waitForChange { $0.socket != nil || $0.refusal != nil ? nil : rest }
        }
    }

    /// A number for a request, before it is asked.
    func number() -> UInt64 { numbers.wrappingAdd(1, ordering: .relaxed).oldValue }

    /// Asks the agent. `completion` is called once, on any thread, holding nothing; with `noAgent` if there is no answer in time.
    ///
    /// - Parameters:
    ///   - caller: the thread that waits; 0 for nobody.
    ///   - isRepeatable: whether it is asked again, within the same time, if the agent goes away before it has answered.
    func ask(
        _ request: MountRequest, number: UInt64? = nil, within limit: Duration, caller: pid_t = 0,
        isRepeatable: Bool = false, completion: @escaping Completion
    ) {
        let number = number ?? self.number()
        let now = Clock.now
        let (isTaken, isFirst, socket) = state.quietly { state -> (Bool, Bool, LocalSocket?) in
            guard !state.isEnding,
                let pause = state.pending.add(
                    number, Waiter(completion: completion, request: request), within: limit, at: now, caller: caller,
                    isRepeatable: isRepeatable)
            else { return (false, false, nil) }
            if state.socket == nil { state.parked[number] = request }
            return (true, now + pause < state.watchedAt, state.socket)
        }
        // Without the lock: the agent may answer before this thread goes on, and the thread that takes the answer needs it. If that
        // connection is over by now, what becomes of the request was decided when it ended.
        socket?.send(request.frame(number: number).bytes)
        if isFirst { state.with { _ in } }
        if !isTaken { completion(.failure(.tooMany)) }
    }

    /// Says something to the agent that has just welcomed this mount, before anything that waits is asked.
    func askFirst(_ request: MountRequest) { state.quietly { $0.first.append(request) } }

    /// Says something that needs no answer; lost if nobody is connected.
    func tell(_ request: MountRequest) {
        state.quietly { $0.socket }?.send(request.frame(number: number()).bytes)
    }

    /// A signal came for the caller of the request.
    func interrupted(_ number: UInt64) { state.with { $0.pending.interrupted(number) } }

    /// Fails all that waits, now and from now on.
    func end() {
        let waiting = state.with { state in
            state.isEnding = true
            state.socket?.end()
            return state.pending.takeAll()
        }
        for waiter in waiting { waiter.completion(.failure(.noAgent)) }
    }

    // MARK: the connection

    private func stayConnected() {
        var failures = 0
        while !state.with({ $0.isEnding }) {
            if let socket = LocalSocket.connect(to: path), socket.isOwnUser, socket.startSending("agent-send") {
                if receive(socket) { failures = 0 }
                socket.end()
            }
            let pause = MountDeadlines.reconnectPause(after: failures)
            failures += 1
            let end = Clock.now + pause
            while Clock.now < end, !state.with({ $0.isEnding }) {
                state.waitForChange { $0.isEnding ? nil : end - Clock.now }
            }
        }
    }

    /// Greets and takes answers until the connection ends. True if the agent took the mount.
    private func receive(_ socket: LocalSocket) -> Bool {
        socket.send(MountRequest.hello(version: MountLimits.version, folder: folder, origin).frame(number: 0).bytes)
        var decoder = MountFrame.Decoder(limit: MountLimits.answerByteCount)
        var descriptors: [CInt] = []
        var isWelcome = false
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
        defer {
            buffer.deallocate()
            for descriptor in descriptors { close(descriptor) }
            if isWelcome { disconnected() }
        }
        while let (count, descriptor) = socket.receive(into: buffer) {
            if let descriptor { descriptors.append(descriptor) }
            decoder.append(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            if isWelcome { state.quietly { $0.pending.heard(at: Clock.now) } }
            do {
                while let frame = try decoder.next() {
                    let answer = try MountAnswer(frame)
                    if isWelcome {
                        take(answer, frame.number, &descriptors)
                    } else if case .welcome = answer {
                        isWelcome = true
                        // Who waits for the connection knows what was said with it.
                        report(answer)
                        connected(socket)
                    } else {
                        guard case .failed(let failure) = answer else { return false }
                        let wasWelcome = state.with { state in
                            state.refusal = failure
                            return state.generation > 0
                        }
                        if wasWelcome { report(answer) }
                        return false
                    }
                }
            } catch {
                return isWelcome
            }
        }
        return isWelcome
    }

    private func connected(_ socket: LocalSocket) {
        state.with { state in
            state.socket = socket
            state.pending.heard(at: Clock.now)
            state.refusal = nil
            state.generation += 1
            for request in state.first { socket.send(request.frame(number: self.number()).bytes) }
            state.first = []
            for (number, request) in state.parked { socket.send(request.frame(number: number).bytes) }
            state.parked = [:]
        }
    }

    private func disconnected() {
        let waiting = state.with { state in
            state.socket = nil
            let ended = state.pending.disconnected()
            for (number, waiter) in state.pending.remaining { state.parked[number] = waiter.request }
            return ended
        }
        for waiter in waiting { waiter.completion(.failure(.noAgent)) }
    }

    private func take(_ answer: MountAnswer, _ number: UInt64, _ descriptors: inout [CInt]) {
        var descriptor: CInt?
        switch answer {
        case .opened, .openedWriting: descriptor = descriptors.isEmpty ? nil : descriptors.removeFirst()
        case .changed, .everythingChanged, .access, .settings: return report(answer)
        default: break
        }
        let (taken, generation) = state.quietly { ($0.pending.take(number), $0.generation) }
        guard let completion = taken?.completion else {
            // Its deadline was over.
            if let descriptor { close(descriptor) }
            if let handle = answer.openedHandle { tell(.close(handle: handle)) }
            return
        }
        if case .failed(let failure) = answer { return completion(.failure(failure)) }
        completion(.success(Answer(answer: answer, descriptor: descriptor, generation: generation)))
    }

    // MARK: deadlines

    /// Ends what has waited too long or waits for a caller that is dying.
    private func watch() {
        while true {
            if state.quietly({ $0.isEnding }) { return }
            let expired = state.quietly { state in
                let expired = state.pending.expired(at: Clock.now)
                for (number, _) in expired { cancel(number, &state) }
                ping(&state)
                return expired
            }
            for (_, waiter) in expired { waiter.completion(.failure(.noAgent)) }
            for (number, caller) in state.quietly({ $0.pending.interrupted }) where Caller.isDying(caller) {
                let waiter = state.quietly { state in
                    cancel(number, &state)
                    return state.pending.take(number)
                }
                waiter?.completion(.failure(.cancelled))
            }
            state.waitForChange { state in
                guard !state.isEnding else { return nil }
                let now = Clock.now
                let pause = state.pending.pause(at: now) ?? Self.idlePause
                state.watchedAt = now + pause
                return pause
            }
        }
    }

    /// Asks an agent that says nothing whether it runs: what changes names may take its time, but not for ever.
    private func ping(_ state: inout State) {
        guard let socket = state.socket, state.pending.takePing(at: Clock.now) else { return }
        let number = self.number()
        // What it answers is heard.
        let waiter = Waiter(completion: { _ in }, request: .ping)
        _ = state.pending.add(number, waiter, within: MountDeadlines.ping, at: Clock.now, caller: 0)
        socket.send(MountRequest.ping.frame(number: number).bytes)
    }

    private func cancel(_ number: UInt64, _ state: inout State) {
        if state.parked.removeValue(forKey: number) == nil {
            _ = state.socket?.send(MountRequest.cancel(number: number).frame(number: self.number()).bytes)
        }
    }
}

enum Clock {
    /// Since the machine started.
    static var now: Duration {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// Nanoseconds since 1970.
    static var wall: Int128 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return nanoseconds(time)
    }

    static func nanoseconds(_ time: timespec) -> Int128 {
        // bounded: 64 bits times a thousand million
        Int128(time.tv_sec) * 1_000_000_000 + Int128(time.tv_nsec)
    }
}

/// What /proc says of the callers of requests.
enum Caller {
    static func isDying(_ thread: pid_t) -> Bool {
        guard thread > 0 else { return false }
        do {
            return Callers.isDying(
                status: String(decoding: try KernelFile.read("/proc/\(thread)/status"), as: UTF8.self))
        } catch {
            // A thread that is gone waits for nothing. One whose status cannot be read at this moment may still wait.
            return error.isAbsence
        }
    }

    /// The process group; 0 if nobody knows.
    static func group(of process: pid_t) -> UInt32 {
        guard process > 0 else { return 0 }
        return UInt32(clamping: max(0, getpgid(process)))
    }

    /// The process that a thread belongs to; 0 if nobody knows.
    static func process(of thread: pid_t) -> pid_t {
        guard thread > 0 else { return 0 }
        return KernelFile.text(at: "/proc/\(thread)/status").flatMap { Callers.process(status: $0) } ?? 0
    }

    /// The process that started the one of a thread; 0 if nobody knows.
    static func parent(of thread: pid_t) -> pid_t {
        guard thread > 0 else { return 0 }
        return KernelFile.text(at: "/proc/\(thread)/status").flatMap { Callers.parent(status: $0) } ?? 0
    }

    static func isScanner(_ process: pid_t, _ names: [String]) -> Bool {
        guard process > 0 else { return false }
        return KernelFile.text(at: "/proc/\(process)/comm").map { Callers.isScanner(command: $0, names) } ?? false
    }

    static func isThumbnailer(_ process: pid_t) -> Bool {
        guard process > 0 else { return false }
        return KernelFile.text(at: "/proc/\(process)/comm").map { Callers.isThumbnailer(command: $0) } ?? false
    }
}
