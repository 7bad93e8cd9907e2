import AsyncTools
import FileAccess
import Glibc
import Logging
import Synchronization

/// Watches the directories of a folder and tells what changed, once it has settled.
///
/// Starts the watch program, the only user of libinotifytools, and starts it again when it ends. Memory is bounded:
/// when too much changes at once, directories and in the end the whole folder are reported in place of names.
package final class FolderWatcher: Sendable {
    private struct Shared {
        var coalescer: EventCoalescer
        var state = WatchState.stopped
        var isStateTold = true
        /// Writing a byte wakes the session's thread; nil while there is none.
        var wake: CInt?
        var wish = WatchSession.Wish()
        /// When the delivering task wakes by itself; nil if it does not.
        var sleepsUntil: Duration?
    }

    private let root: RootDirectory
    private let program: String
    private let isWatched: @Sendable (RelativePath?) -> Bool
    private let settings: WatchSettings
    private let clock: any Clock<Duration>
    private let elapsed: @Sendable () -> Duration
    private let logger: Logger
    private let shared: Mutex<Shared>
    private let hasReports = Signal()

    /// - Parameters:
    ///   - program: The path of `synctrain-watch`; see `WatchProgram.besideExecutable()`.
    ///   - isWatched: Whether a directory is to be watched; nil is the root, which always is. A directory is asked for
    ///     only if the one above is watched. Called on a thread of the watcher's own at any time during `run`.
    package init(
        root: RootDirectory, program: String, isWatched: @escaping @Sendable (RelativePath?) -> Bool,
        settings: WatchSettings = WatchSettings(), clock: any Clock<Duration> = ContinuousClock(), logger: Logger
    ) {
        self.root = root
        self.program = program
        self.isWatched = isWatched
        self.settings = settings
        self.clock = clock
        elapsed = Self.stopwatch(clock)
        self.logger = logger
        shared = Mutex(Shared(coalescer: EventCoalescer(settings: settings)))
    }

    private static func stopwatch<C: Clock<Duration>>(_ clock: C) -> @Sendable () -> Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }

    /// How well the folder is watched at this moment.
    package var state: WatchState { shared.withLock { $0.state } }

    /// Whether the file was written to and, as far as is known, not closed since: it will be reported when it is.
    package func isBeingWritten(_ path: RelativePath) -> Bool {
        shared.withLock { $0.coalescer.isBeingWritten(path) }
    }

    /// Asks `isWatched` again for all directories and adds and removes watches. Returns at once; directories that are
    /// watched from then on are reported as changed.
    package func selectionChanged() {
        shared.withLock { shared in
            shared.wish.walksAgain = true
            Self.wake(&shared)
        }
    }

    /// Other file systems are mounted at these places than before, or none: the watches are of directories that were there. Those
    /// that are there now are watched, and reported as changed. Returns at once.
    package func mountsChanged(at places: Set<RelativePath>) {
        shared.withLock { shared in
            shared.wish.replaced.formUnion(places)
            Self.wake(&shared)
        }
    }

    /// Watches until the task is cancelled and gives reports to `deliver`, one at a time, in order. While it takes one,
    /// further events are collected. On return the watch program has ended and was reaped. Once at a time.
    ///
    /// When all watches are set, a state and then a `rescan` of the whole folder are reported: a scan that began
    /// earlier may have missed changes.
    package func run(_ deliver: @Sendable (WatchReport) async -> Void) async {
        shared.withLock { shared in
            shared.coalescer = EventCoalescer(settings: settings)
            shared.wish = WatchSession.Wish()
        }
        tell(.starting)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.keepProgramRunning() }
            await deliverReports(to: deliver)
            group.cancelAll()
        }
        tell(.stopped)
        shared.withLock { $0.isStateTold = true }
        await deliver(.state(.stopped))
    }

    // MARK: reports

    private func deliverReports(to deliver: @Sendable (WatchReport) async -> Void) async {
        var triedAt = elapsed()
        while !Task.isCancelled {
            let now = elapsed()
            let retryAt = triedAt + settings.retryInterval
            let (reports, nextDue) = shared.withLock { shared in
                var reports = shared.coalescer.take(at: now)
                if !shared.isStateTold {
                    shared.isStateTold = true
                    reports.insert(.state(shared.state), at: 0)
                }
                var nextDue = shared.coalescer.nextDue
                if case .impaired(let impairment) = shared.state, impairment.isWorthRetrying {
                    if retryAt <= now {
                        shared.wish.walksAgain = true
                        Self.wake(&shared)
                    } else {
                        nextDue = min(nextDue ?? retryAt, retryAt)
                    }
                }
                shared.sleepsUntil = reports.isEmpty ? nextDue : now
                return (reports, nextDue)
            }
            if retryAt <= now { triedAt = now }
            for report in reports { await deliver(report) }
            if reports.isEmpty {
                if let nextDue {
                    await hasReports.wait(atMost: max(nextDue - now, .zero), clock: clock)
                } else {
                    await hasReports.wait()
                }
            }
        }
    }

    private func tell(_ state: WatchState) {
        shared.withLock { shared in
            guard shared.state != state else { return }
            shared.state = state
            shared.isStateTold = false
        }
        hasReports.notify()
    }

    /// Takes what a session found; called on its thread.
    private func take(_ turn: WatchSession.Turn, reason: RescanReason) {
        let now = elapsed()
        let rings = shared.withLock { shared in
            for event in turn.events { shared.coalescer.note(event, at: now) }
            if turn.isComplete { shared.coalescer.note(.lost(nil, reason), at: now) }
            if let state = turn.state, state != shared.state {
                shared.state = state
                shared.isStateTold = false
            }
            guard shared.isStateTold else { return true }
            guard let nextDue = shared.coalescer.nextDue else { return false }
            return shared.sleepsUntil.map { nextDue < $0 } ?? true
        }
        if rings { hasReports.notify() }
    }

    // MARK: the program

    private func keepProgramRunning() async {
        var reason = RescanReason.started
        var failures = 0
        while !Task.isCancelled {
            let begun = elapsed()
            let (outcome, wasComplete) = await runSession(reason)
            if Task.isCancelled { break }
            if let impairment = WatchImpairment(outcome, program: program) {
                logger.warning("\(impairment)")
                tell(.impaired(impairment))
            } else {
                logger.info("too many changes at once; the watches are recreated and the folder is rescanned")
            }
            // What ended before all was watched leaves the rescan, and its reason, to the next.
            if wasComplete { reason = outcome == .overflow ? .overflow : .restarted }
            if elapsed() - begun > settings.soundAfter { failures = 0 }
            try? await clock.sleep(for: delay(failures: failures))
            failures += 1
        }
    }

    private func delay(failures: Int) -> Duration {
        min(settings.restartDelay * (1 << min(failures, 20)), settings.restartDelayLimit)
    }

    /// Runs a session on a thread of its own, which lives as long as the program; ends it when the task is cancelled.
    private func runSession(_ reason: RescanReason) async -> (outcome: WatchSession.Outcome, wasComplete: Bool) {
        let ends: (wakeable: CInt, waker: CInt)
        do {
            ends = try WatchChild.socketPair()
        } catch {
            return (.cannotStart(errno: error.errno), false)
        }
        guard fcntl(ends.waker, F_SETFL, O_NONBLOCK) == 0 else { preconditionFailure("an open socket takes flags") }
        shared.withLock { $0.wake = ends.waker }
        defer {
            shared.withLock { $0.wake = nil }
            _ = close(ends.wakeable)
            _ = close(ends.waker)
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isStarted = Self.onThread {
                    let wasComplete = Mutex(false)
                    var session = WatchSession(
                        root: self.root, program: self.program, isWatched: self.isWatched, wake: ends.wakeable,
                        elapsed: self.elapsed, logger: self.logger, wish: self.takeWish,
                        give: { turn in
                            if turn.isComplete { wasComplete.withLock { $0 = true } }
                            self.take(turn, reason: reason)
                        })
                    let outcome = session.run()
                    continuation.resume(returning: (outcome, wasComplete.withLock { $0 }))
                }
                if !isStarted { continuation.resume(returning: (.cannotStart(errno: EAGAIN), false)) }
            }
        } onCancel: {
            shared.withLock { shared in
                shared.wish.isStopping = true
                Self.wake(&shared)
            }
        }
    }

    private func takeWish() -> WatchSession.Wish {
        shared.withLock { shared in
            defer { (shared.wish.walksAgain, shared.wish.replaced) = (false, []) }
            return shared.wish
        }
    }

    private static func wake(_ shared: inout Shared) {
        guard let wake = shared.wake else { return }
        // A full socket has woken the thread already.
        var byte: UInt8 = 0
        _ = send(wake, &byte, 1, CInt(MSG_NOSIGNAL))
    }

    /// Runs `body` on a new thread, on which no signal of the process is handled; false if there can be none.
    private static func onThread(_ body: @escaping @Sendable () -> Void) -> Bool {
        var all = sigset_t()
        var earlier = sigset_t()
        sigfillset(&all)
        // A thread inherits the mask of the one that makes it.
        pthread_sigmask(SIG_SETMASK, &all, &earlier)
        defer { pthread_sigmask(SIG_SETMASK, &earlier, nil) }
        let box = Unmanaged.passRetained(Body(run: body))
        var thread = pthread_t()
        let result = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, box.toOpaque())
        guard result == 0 else {
            box.release()
            return false
        }
        pthread_detach(thread)
        return true
    }

    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(run: @escaping @Sendable () -> Void) { self.run = run }
    }
}
