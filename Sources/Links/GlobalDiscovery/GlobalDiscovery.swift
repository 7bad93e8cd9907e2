import BlockExchange
import HTTPExchange
import Synchronization

/// Tells discovery servers where this device is, and asks them about others (global discovery v3).
///
/// What servers say is a hint where to dial: it proves nothing about who is there. Deciding is `AnnounceSchedule`'s and
/// `LookupTable`'s; this performs it, while `run` runs.
package final class GlobalDiscovery: Sendable {
    private struct Trail {
        var success: Duration?
        var problem: String?
    }

    private struct Waiter {
        var device: DeviceID
        var continuation: CheckedContinuation<Void, Never>
    }

    private struct Job: Sendable {
        var device: DeviceID
        var servers: [Int]
    }

    private struct Shared {
        var table: LookupTable
        var schedules: [AnnounceSchedule] = []
        var announcing: [Trail]
        var lookingUp: [Trail]
        var jobs: AsyncStream<Job>.Continuation?
        var waiters: [Int: Waiter] = [:]
        var nextWaiter = 0
    }

    /// How many devices are looked up at the same time.
    package static let parallelLookups = 8
    /// Longer than a lookup takes, and as long as a full table lasts at least.
    private static let usualPause = Duration.seconds(60)

    package let servers: [DiscoveryServer]
    private let lookupServers: [DiscoveryServer]
    private let announceServers: [DiscoveryServer]
    private let exchange: DiscoveryExchange
    private let announced: @Sendable () -> [String]
    private let now: @Sendable () -> Duration
    private let sleep: @Sendable (Duration) async throws -> Void
    private let jitter: @Sendable () -> Double
    private let alarms: [Alarm]
    private let shared: Mutex<Shared>

    /// - Parameters:
    ///   - exchange: see `DiscoveryNetworking`.
    ///   - clock: measures intervals and lifetimes.
    ///   - jitter: a random number from 0 to 1.
    ///   - announced: what to announce at the moment, as `AnnouncedAddresses` gives it; while it is empty, nothing is.
    package init(
        servers: [DiscoveryServer], deviceLimit: Int = LookupTable.usualDeviceLimit,
        exchange: @escaping DiscoveryExchange,
        clock: some Clock<Duration>, jitter: @escaping @Sendable () -> Double = { Double.random(in: 0...1) },
        announced: @escaping @Sendable () -> [String]
    ) {
        self.servers = servers
        lookupServers = servers.filter(\.looksUp)
        announceServers = servers.filter(\.announces)
        self.exchange = exchange
        self.announced = announced
        self.jitter = jitter
        let start = clock.now
        now = { start.duration(to: clock.now) }
        sleep = { try await clock.sleep(until: clock.now.advanced(by: $0), tolerance: nil) }
        alarms = announceServers.map { _ in Alarm() }
        shared = Mutex(
            Shared(
                table: LookupTable(serverCount: lookupServers.count, deviceLimit: deviceLimit),
                announcing: announceServers.map { _ in Trail() }, lookingUp: lookupServers.map { _ in Trail() }))
    }

    // MARK: for whoever dials

    /// Where `device` was at each server's last word, without waiting: best as a first try beside `addresses(of:)`.
    package func cachedAddresses(of device: DeviceID) -> [String] {
        let now = now()
        return shared.withLock { $0.table.addresses(of: device, at: now) }
    }

    /// Has the servers asked about `device` whose last word is too old, and does not wait: `found` of `run` tells what comes of
    /// it. Without effect while `run` does not run.
    package func lookUp(_ device: DeviceID) {
        let now = now()
        shared.withLock { Self.begin(device, at: now, &$0) }
    }

    /// How long `lookUp` is of no use for `device`, from now on: servers are being asked, or want to be left alone.
    package func pause(beforeLookingUp device: DeviceID) -> Duration {
        let now = now()
        return shared.withLock { shared in
            guard shared.jobs != nil else { return .zero }
            guard !shared.table.isAsked(device), let next = shared.table.nextLookup(of: device) else {
                return Self.usualPause
            }
            return max(.zero, next - now)
        }
    }

    private static func begin(_ device: DeviceID, at now: Duration, _ shared: inout Shared) {
        guard let jobs = shared.jobs else { return }
        let servers = shared.table.begin(device, at: now)
        if !servers.isEmpty { jobs.yield(Job(device: device, servers: servers)) }
    }

    /// Where `device` is, after asking the servers whose last word is too old; at once when it is fresh, when `run` does
    /// not run, and on cancellation. It waits for the slowest server, 30 s at most once the lookup has begun; what `found`
    /// of `run` reports comes as each server answers.
    package func addresses(of device: DeviceID) async -> [String] {
        let now = now()
        let number = shared.withLock { shared in
            shared.nextWaiter += 1
            return shared.nextWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isWaiting = shared.withLock { shared in
                    guard shared.jobs != nil, !Task.isCancelled else { return false }
                    Self.begin(device, at: now, &shared)
                    guard shared.table.isAsked(device) else { return false }
                    shared.waiters[number] = Waiter(device: device, continuation: continuation)
                    return true
                }
                if !isWaiting { continuation.resume() }
            }
        } onCancel: {
            shared.withLock { $0.waiters.removeValue(forKey: number) }?.continuation.resume()
        }
        return cachedAddresses(of: device)
    }

    /// The user has just added `device` or asked for it: the next lookup of it does not wait for what servers asked for.
    package func expect(_ device: DeviceID) {
        let now = now()
        shared.withLock { $0.table.allowLookup(of: device, at: now) }
    }

    package func forget(_ device: DeviceID) { shared.withLock { $0.table.remove(device) } }

    /// This device's own addresses have changed: a mapped port, a relay, an interface.
    package func addressesChanged() {
        let now = now()
        reschedule { $0.addressesChanged(at: now) }
    }

    /// The machine is on another network, or woke up: announces at once, and lets each device be looked up once.
    package func networkChanged() {
        let now = now()
        shared.withLock { $0.table.allowAllLookups() }
        reschedule { $0.networkChanged(at: now) }
    }

    private func reschedule(_ change: (inout AnnounceSchedule) -> Void) {
        shared.withLock { shared in
            for index in shared.schedules.indices { change(&shared.schedules[index]) }
        }
        for alarm in alarms { alarm.ring() }
    }

    /// How each server does, in the configuration's order.
    package var states: [DiscoveryServerState] {
        let now = now()
        return shared.withLock { shared in
            var announcing = shared.announcing.enumerated().map { index, trail in
                DiscoveryServerState.Activity(
                    sinceSuccess: trail.success.map { now - $0 },
                    untilNext: shared.schedules.indices.contains(index)
                        ? shared.schedules[index].next.map { max(.zero, $0 - now) } : nil,
                    problem: trail.problem)
            }[...]
            var lookingUp = shared.lookingUp.enumerated().map { index, trail in
                let pauseEnd = shared.table.pauseEnd(ofServer: index)
                // While a device is sought, the server is asked again by then; otherwise nobody knows how it does.
                let isCurrent = pauseEnd.map { now < $0 + Self.usualPause } ?? false
                return DiscoveryServerState.Activity(
                    sinceSuccess: trail.success.map { now - $0 }, untilNext: pauseEnd.map { max(.zero, $0 - now) },
                    problem: isCurrent ? trail.problem : nil)
            }[...]
            return servers.map {
                DiscoveryServerState(
                    server: $0, announcing: $0.announces ? announcing.popFirst() : nil,
                    lookingUp: $0.looksUp ? lookingUp.popFirst() : nil)
            }
        }
    }

    /// What keeps it from working, with the remedy; nil if nothing does.
    package var problem: String? { DiscoveryServerState.problem(of: states) }

    // MARK: running

    /// Announces and performs lookups until cancelled. One call at a time.
    ///
    /// - Parameters:
    ///   - found: called when a device's addresses have changed by a server's answer; `cachedAddresses(of:)` has them. It
    ///     holds up the lookup while it runs.
    ///   - report: called when something worth a line in a log has happened.
    package func run(
        found: @escaping @Sendable (DeviceID) async -> Void,
        report: @escaping @Sendable (GlobalDiscoveryEvent) -> Void = { _ in }
    ) async {
        // One job per device at most, as the table counts what is being asked.
        let (jobs, continuation) = AsyncStream.makeStream(of: Job.self)
        let now = now()
        let jitters = announceServers.map { _ in jitter() }
        shared.withLock { shared in
            shared.jobs = continuation
            shared.schedules = jitters.map { AnnounceSchedule(at: now, jitter: $0) }
        }
        await withTaskGroup { tasks in
            for index in announceServers.indices {
                tasks.addTask { await self.announce(to: index, found: found, report: report) }
            }
            tasks.addTask { await self.perform(jobs, found: found, report: report) }
        }
        let waiters = shared.withLock { shared in
            shared.jobs = nil
            shared.schedules = []
            shared.table.abandonAll()
            defer { shared.waiters = [:] }
            return shared.waiters.values.map(\.continuation)
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Two devices that start at the same moment ask for each other before either is announced. So the one that is announced
    /// later asks once more for those that were not found.
    private func lookAgain(_ found: @Sendable (DeviceID) async -> Void) async {
        let now = now()
        let missing = shared.withLock { shared in
            let missing = shared.table.missing(at: now)
            for device in missing { shared.table.allowLookup(of: device, at: now) }
            return missing
        }
        // A session that still looks for its device asks again.
        for device in missing { await found(device) }
    }

    private func announce(
        to index: Int, found: @Sendable (DeviceID) async -> Void, report: @Sendable (GlobalDiscoveryEvent) -> Void
    ) async {
        while !Task.isCancelled {
            let now = now()
            let (isDue, next) = shared.withLock { shared in
                (shared.schedules[index].begin(at: now), shared.schedules[index].next)
            }
            if isDue {
                let isFirst = shared.withLock { $0.announcing[index].success == nil }
                await announceOnce(to: index, report: report)
                if isFirst, shared.withLock({ $0.announcing[index].success != nil }) { await lookAgain(found) }
            } else if let next {
                await alarms[index].wait { [sleep] in try? await sleep(next - now) }
            }
        }
    }

    private func announceOnce(to index: Int, report: @Sendable (GlobalDiscoveryEvent) -> Void) async {
        let server = announceServers[index]
        let addresses = announced()
        guard !addresses.isEmpty else {
            let now = now()
            shared.withLock { $0.schedules[index].skipped(at: now) }
            return
        }
        var answer: HTTPAnswer?
        let problem: String?
        do {
            let received = try await exchange(server.announcement(of: addresses), server, true)
            problem = server.problem(announcing: received)
            answer = received
        } catch is CancellationError where Task.isCancelled {
            return
        } catch {
            problem = String(describing: error)
        }
        let now = now(), jitter = jitter()
        let isNews = shared.withLock { shared in
            if problem == nil {
                shared.announcing[index].success = now
                shared.schedules[index].succeeded(reannounceAfter: answer?.duration("reannounce-after"), at: now)
            } else {
                shared.schedules[index].failed(
                    retryAfter: answer?.retryAfter, isOverloaded: answer.map(\.isOverload) ?? false, jitter: jitter,
                    at: now)
            }
            defer { shared.announcing[index].problem = problem }
            return shared.announcing[index].problem != problem
        }
        if let problem {
            if isNews { report(.announcementFailed(server, problem)) }
        } else {
            report(.announced(server, addresses))
        }
    }

    private func perform(
        _ jobs: AsyncStream<Job>, found: @escaping @Sendable (DeviceID) async -> Void,
        report: @escaping @Sendable (GlobalDiscoveryEvent) -> Void
    ) async {
        await withTaskGroup(of: Void.self) { tasks in
            var running = 0
            for await job in jobs {
                if running >= Self.parallelLookups {
                    await tasks.next()
                    running -= 1
                }
                tasks.addTask { await self.lookUp(job, found: found, report: report) }
                running += 1
            }
        }
    }

    private func lookUp(
        _ job: Job, found: @escaping @Sendable (DeviceID) async -> Void,
        report: @escaping @Sendable (GlobalDiscoveryEvent) -> Void
    ) async {
        await withTaskGroup(of: Void.self) { tasks in
            for server in job.servers {
                // Each answer counts as it comes: a slow server holds up no dial.
                tasks.addTask {
                    if await self.lookUp(job.device, at: server, report: report) { await found(job.device) }
                }
            }
        }
        let waiters = shared.withLock { shared in
            // Another job may ask other servers about the same device; who waits for that goes on waiting.
            guard !shared.table.isAsked(job.device) else { return [CheckedContinuation<Void, Never>]() }
            let numbers = shared.waiters.filter { $0.value.device == job.device }.map(\.key)
            return numbers.compactMap { shared.waiters.removeValue(forKey: $0)?.continuation }
        }
        for waiter in waiters { waiter.resume() }
    }

    private func lookUp(
        _ device: DeviceID, at index: Int, report: @Sendable (GlobalDiscoveryEvent) -> Void
    ) async -> Bool {
        let server = lookupServers[index]
        let outcome: LookupTable.Outcome
        var problem: String?
        do {
            let answer = try await exchange(server.lookup(of: device.description), server, false)
            switch answer.status {
            case 200:
                outcome = .found(try LookupAnswer(body: answer.body))
            case 404:
                outcome = .notFound(retryAfter: answer.retryAfter)
            default:
                problem = server.problem(lookingUp: answer)
                outcome = .failed(retryAfter: answer.retryAfter)
            }
        } catch is CancellationError where Task.isCancelled {
            outcome = .abandoned
        } catch let error as GlobalDiscoveryError {
            problem = "\(server): \(error)"
            outcome = .failed(retryAfter: nil)
        } catch {
            problem = String(describing: error)
            outcome = .failed(retryAfter: nil)
        }
        let now = now()
        let (isChanged, isNews) = shared.withLock { shared in
            let isChanged = shared.table.finished(device, server: index, outcome, at: now)
            guard outcome != .abandoned else { return (isChanged, false) }
            if problem == nil { shared.lookingUp[index].success = now }
            defer { shared.lookingUp[index].problem = problem }
            return (isChanged, shared.lookingUp[index].problem != problem)
        }
        if isNews, let problem { report(.lookupFailed(server, problem)) }
        return isChanged
    }
}

extension HTTPAnswer {
    /// Whether the server asks for fewer requests.
    fileprivate var isOverload: Bool { status == 429 || status == 503 }
}
