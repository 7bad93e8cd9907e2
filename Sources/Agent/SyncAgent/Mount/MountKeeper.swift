import AgentConfiguration
import AgentContext
import AsyncTools
import BlockExchange
import ControlAPI
import Logging
import MountRules
import MountServer
import SyncDecisions

/// Mounts the folders that the configuration wants mounted while the agent runs, and what people ask for.
///
/// A mount is started once for each time that the configuration begins to want it, and again if it fails. One that somebody has
/// unmounted stays so until the agent, or the setting, begins again.
actor MountKeeper {
    private struct Kept {
        var wanted: WantedMount
        /// Nil: nothing is to be done.
        var nextTry: MonotonicTime?
        var failures = 0
        var problem: ControlError?
    }

    /// A mount that the configuration does not want and whose process was killed: programs see the directory below it.
    private struct Killed {
        var mount: MountGreeting
        /// Where else the folder was mounted then: that these are connected says nothing of this one.
        var others: Set<String>
        /// When it is to be back; nil once it was not.
        var dueAt: MonotonicTime?
        var problem: ControlError?
    }

    /// A mount whose connection was lost, or whose process is started again, is back sooner.
    private static let comeback: Duration = .seconds(4)

    let configuration: RunningConfiguration
    let board: MountBoard
    /// Nil where folders cannot be mounted.
    let tools: MountTools?
    /// Notified when the configuration changes.
    let changed: Signal
    /// Runs what waits for the end of a mount.
    let begin: @Sendable (@escaping @Sendable () async -> Void) -> Void
    let time: AgentTime
    let logger: Logger
    private var kept: [String: Kept] = [:]
    /// By their directories.
    private var killed: [String: Killed] = [:]
    /// How often it has compared what there is with what is wanted; what waits for the next time counts from here.
    private(set) var settleCount: UInt64 = 0
    /// One thing is done with mounts at a time.
    private let gate = Budget(limit: 1)

    init(
        configuration: RunningConfiguration, board: MountBoard, tools: MountTools?, changed: Signal, time: AgentTime,
        logger: Logger, begin: @escaping @Sendable (@escaping @Sendable () async -> Void) -> Void
    ) {
        (self.configuration, self.board, self.tools, self.changed) = (configuration, board, tools, changed)
        (self.time, self.logger, self.begin) = (time, logger, begin)
    }

    /// Runs until cancelled. Nothing wakes while all is as the configuration wants it. Mounts go on when the agent ends.
    func run() async {
        while !Task.isCancelled {
            try? await gate.withUnits(1) { await settle() }
            let tries = kept.values.compactMap(\.nextTry) + killed.values.compactMap(\.dueAt)
            guard let next = tries.min() else {
                await changed.wait()
                board.settingsChanged()
                continue
            }
            // bounded: retries are at most a minute away
            let pause = max(next - time.monotonic(), .milliseconds(10))
            if await changed.wait(atMost: pause, clock: time.clock) { board.settingsChanged() }
        }
    }

    // MARK: the configuration

    private var wanted: [String: WantedMount] {
        var wanted: [String: WantedMount] = [:]
        for folder in configuration.current.folders {
            guard let directory = folder.mount.directory else { continue }
            wanted[folder.id.rawValue] = WantedMount(
                folder: folder.id.rawValue, directory: resolved(directory), isReadOnly: folder.mount.isReadOnly)
        }
        return wanted
    }

    /// As the list of file systems has it.
    nonisolated func resolved(_ directory: String) -> String { tools?.resolved(directory) ?? directory }

    private func settle() async {
        let (wanted, now) = (wanted, time.monotonic())
        await endOrphans()
        noteLost(now)
        judgeKilled(now)
        dropNeedlessTries()
        for (folder, mount) in kept where wanted[folder] != mount.wanted { await release(folder, mount) }
        for (folder, mount) in wanted where kept[folder] == nil {
            kept[folder] = Kept(wanted: mount, nextTry: now)
        }
        for (folder, mount) in kept where wanted[folder] == mount.wanted && mount.nextTry.map({ $0 <= now }) == true {
            await attempt(folder, mount)
        }
        settleCount &+= 1
    }

    /// Unmounts what shows a folder that the configuration has no more: nothing in it can be read, also by those who use it.
    private func endOrphans() async {
        let folders = Set(configuration.current.folders.map(\.id.rawValue))
        let listed = Set((tools?.mounted() ?? []).map(\.directory))
        let mounts = board.connected.map(\.greeting) + board.takeRefused()
        for mount in mounts where !folders.contains(mount.folder) && listed.contains(mount.origin.directory) {
            do {
                try await end(at: mount.origin.directory, isLazy: true)
            } catch {
                logger.warning("\(mount.folder): \(ControlError(describing: error).message)")
            }
        }
    }

    /// A mount that has outlived an agent is not the child of this one, which hears only that its connection is lost. If it is not
    /// back a moment later, its process was killed.
    private func noteLost(_ now: MonotonicTime) {
        for mount in board.takeLost() {
            let directory = mount.origin.directory
            guard let known = kept[mount.folder], known.wanted.directory == directory else {
                let others = board.connected.map(\.greeting).filter { $0.folder == mount.folder }
                killed[directory] = Killed(
                    mount: mount, others: Set(others.map(\.origin.directory)), dueAt: now + Self.comeback)
                continue
            }
            guard tools?.isSupervised == false, known.nextTry == nil else { continue }
            kept[mount.folder]?.failures = 1
            kept[mount.folder]?.nextTry = now + MountRetry.pause(after: 0)
        }
    }

    /// Says which mounts that nobody else looks after have ended without having been asked to. Nobody mounts them again: what a program
    /// has put into the directory below would be hidden.
    private func judgeKilled(_ now: MonotonicTime) {
        let folders = Set(configuration.current.folders.map(\.id.rawValue))
        let connected = board.connected.map(\.greeting)
        for (directory, known) in killed {
            let mount = known.mount
            let place = WantedMount(folder: mount.folder, directory: directory, isReadOnly: mount.origin.isReadOnly)
            let isBack = connected.contains {
                $0.origin.directory == directory
                    || $0.folder == mount.folder && !known.others.contains($0.origin.directory)
            }
            let isDue = known.dueAt.map { $0 <= now } ?? true
            // Of one that is listed still, `status` says that it does not answer.
            if isBack || !folders.contains(mount.folder) || isDue && isListed(place) {
                killed[directory] = nil
            } else if isDue, known.problem == nil {
                let problem = Self.problem(of: place)
                killed[directory]?.dueAt = nil
                killed[directory]?.problem = problem
                logger.warning("\(mount.folder): \(problem.message)")
            }
        }
    }

    private static func problem(of mount: WantedMount) -> ControlError {
        let words = ["mount", mount.folder, mount.directory] + (mount.isReadOnly ? ["--read-only"] : [])
        return ControlError(
            .failed,
            "the mount on \(mount.directory) ended unexpectedly; what programs write there now is not in the "
                + "folder; mount it again: \(ShellWord.command(words))",
            path: mount.directory)
    }

    /// What is connected by now, or was unmounted by somebody meanwhile, is not mounted once more.
    private func dropNeedlessTries() {
        let (wanted, ended) = (wanted, board.takeEnded())
        for (folder, mount) in kept where mount.nextTry != nil && wanted[folder] == mount.wanted {
            if isMounted(mount.wanted) {
                kept[folder] = Kept(wanted: mount.wanted)
            } else if ended.contains(mount.wanted.directory) {
                kept[folder]?.nextTry = nil
            }
        }
    }

    /// Unmounts what the configuration wants no more.
    private func release(_ folder: String, _ mount: Kept) async {
        do {
            if isListed(mount.wanted) { try await end(at: mount.wanted.directory, isLazy: false) }
            kept[folder] = nil
        } catch {
            note(folder, error, mount)
        }
    }

    private func attempt(_ folder: String, _ mount: Kept) async {
        if isListed(mount.wanted) {
            let isConnected = board.connected.contains { $0.greeting.origin.directory == mount.wanted.directory }
            // One that has outlived the agent connects again by itself, which takes two seconds at most.
            guard isConnected || mount.failures > 1 else {
                kept[folder]?.failures = mount.failures + 1
                kept[folder]?.nextTry = time.monotonic() + MountRetry.pause(after: 1)
                return
            }
            if isConnected {
                kept[folder] = Kept(wanted: mount.wanted)
                return
            }
        }
        do {
            try await start(mount.wanted)
            kept[folder] = Kept(wanted: mount.wanted)
        } catch {
            note(folder, error, mount)
        }
    }

    private func note(_ folder: String, _ error: any Error, _ mount: Kept) {
        let error = ControlError(describing: error)
        if mount.problem != error { logger.warning("\(folder): \(error.message)") }
        // bounded: `MountRetry` counts to six
        kept[folder]?.failures = min(mount.failures + 1, 100)
        kept[folder]?.nextTry = time.monotonic() + MountRetry.pause(after: mount.failures)
        kept[folder]?.problem = error
    }

    // MARK: mounting

    /// Whether it is mounted and answers.
    func isMounted(_ wanted: WantedMount) -> Bool {
        standings().contains {
            $0.folder == wanted.folder && $0.directory == wanted.directory && $0.state == .mounted
        }
    }

    /// Mounts a folder now.
    ///
    /// - Throws: `ControlError`.
    func mount(_ wanted: WantedMount) async throws {
        try await gate.withUnits(1) {
            try await start(wanted)
            if self.wanted[wanted.folder] == wanted { kept[wanted.folder] = Kept(wanted: wanted) }
        }
        changed.notify()
    }

    /// Unmounts a folder, wherever it is mounted, or at one directory.
    ///
    /// - Throws: `ControlError`: `noSuchPath` if it is not mounted.
    func unmount(_ folder: String, at directory: String?, isLazy: Bool) async throws {
        try await gate.withUnits(1) {
            let places = standings().filter {
                $0.folder == folder && $0.state != .unmounted && (directory == nil || $0.directory == directory)
            }
            let ended = killed.filter { $0.value.mount.folder == folder && (directory == nil || $0.key == directory) }
            for place in ended.keys { killed[place] = nil }
            guard !places.isEmpty || !ended.isEmpty else {
                throw ControlError(
                    .noSuchPath, "\(folder) is not mounted. `synctrain mount --list` shows the mounts.", path: folder)
            }
            for place in places { try await end(at: place.directory, isLazy: isLazy) }
            // It stays so until the setting or the agent begins again.
            kept[folder]?.nextTry = nil
            kept[folder]?.problem = nil
        }
    }

    private func start(_ wanted: WantedMount) async throws {
        guard let tools else {
            throw ControlError(.failed, "This agent cannot mount folders. Use `synctrain mount` in a terminal.")
        }
        let end = try await tools.start(wanted, configuration.current.folders.map(\.path))
        logger.info("\(wanted.folder) is mounted on \(wanted.directory)")
        guard let end else { return }
        begin { [self] in if await end() { await failed(wanted) } }
    }

    private func end(at directory: String, isLazy: Bool) async throws {
        guard let tools else {
            throw ControlError(.failed, "This agent cannot unmount folders. Use `synctrain unmount` in a terminal.")
        }
        let process =
            board.connected.first { $0.greeting.origin.directory == directory }?.greeting.process
            ?? board.seen(at: directory)?.process
        try await tools.end(directory, process ?? 0, isLazy)
        logger.info("\(directory) is unmounted")
    }

    /// The process of a mount has ended without having been asked to.
    private func failed(_ wanted: WantedMount) {
        guard let mount = kept[wanted.folder], mount.wanted == wanted, self.wanted[wanted.folder] == wanted else {
            return
        }
        logger.warning("\(wanted.folder): the process of the mount has ended; it is started again")
        kept[wanted.folder]?.failures = min(mount.failures + 1, 100)
        kept[wanted.folder]?.nextTry = time.monotonic() + MountRetry.pause(after: mount.failures)
        changed.notify()
    }

    // MARK: status

    private struct Standing {
        var folder: String
        var directory: String
        var state: MountStanding
        var connected: MountBoard.Connected?
    }

    private func isListed(_ wanted: WantedMount) -> Bool {
        tools?.mounted().contains { $0.directory == wanted.directory && $0.folder == wanted.folder } ?? false
    }

    /// What is mounted, was, or is to be.
    private func standings() -> [Standing] {
        let listed = Set((tools?.mounted() ?? []).map { Place(folder: $0.folder, directory: $0.directory) })
        var found: [Place: Standing] = [:]
        for mount in board.connected {
            let origin = mount.greeting.origin
            let place = Place(folder: mount.greeting.folder, directory: origin.directory)
            let state = MountStanding(
                isListed: listed.contains(place), isConnected: true,
                isRunning: RunningProgram.isRunning(mount.greeting.process))
            found[place] = Standing(folder: place.folder, directory: place.directory, state: state, connected: mount)
        }
        let seen = board.seen(of: Set(listed.map(\.directory))).map {
            Place(folder: $0.folder, directory: $0.origin.directory)
        }
        let configured = wanted.values.map { Place(folder: $0.folder, directory: $0.directory) }
        let ended = killed.filter { $0.value.problem != nil }.map {
            Place(folder: $0.value.mount.folder, directory: $0.key)
        }
        for place in seen + configured + ended
            + kept.values.map({ Place(folder: $0.wanted.folder, directory: $0.wanted.directory) })
        where found[place] == nil {
            let state = MountStanding(isListed: listed.contains(place), isConnected: false, isRunning: nil)
            found[place] = Standing(folder: place.folder, directory: place.directory, state: state)
        }
        return found.values.sorted { ($0.folder, $0.directory) < ($1.folder, $1.directory) }
    }

    private struct Place: Hashable {
        var folder: String
        var directory: String
    }

    /// Mounts that there are, and those that the configuration wants.
    var statuses: [MountStatus] {
        let wanted = wanted
        return standings().compactMap { standing in
            let isConfigured = wanted[standing.folder]?.directory == standing.directory
            let mine = kept[standing.folder].flatMap { $0.wanted.directory == standing.directory ? $0 : nil }
            let end = killed[standing.directory].flatMap { $0.mount.folder == standing.folder ? $0 : nil }
            let problem = mine?.problem ?? end?.problem
            guard standing.state != .unmounted || isConfigured || problem != nil else { return nil }
            let (readers, more) = standing.connected?.readers.all ?? ([], 0)
            let origin = standing.connected?.greeting.origin
            let since = origin.map { WallTime(seconds: Int64(clamping: $0.startedAt)).rfc3339 }
            return MountStatus(
                folder: standing.folder, directory: standing.directory, state: standing.state.rawValue,
                since: standing.state == .unmounted ? nil : since,
                isReadOnly: (origin ?? end?.mount.origin)?.isReadOnly ?? wanted[standing.folder]?.isReadOnly ?? false,
                isConfigured: isConfigured, problem: problem, readers: readers, moreReaders: more)
        }
    }
}
