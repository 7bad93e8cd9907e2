import CFuse
import Glibc
import MountProtocol
import MountRules
import Names
import Synchronization
import Threads

/// Has programs that watch directories of the mount hear of what others change: the kernel makes events for system calls alone, so a
/// process of its own makes the calls, and this mount answers them without doing anything (docs/decisions/mount.md). From a thread of
/// its own; nothing else waits for that process.
final class Watching: Sendable {
    private struct State {
        var seen = SeenDirectories()
        var expected: ExpectedCall?
        /// A file system that is mounted `ro` refuses such calls.
        var isEnabled = false
        var isEnding = false
    }

    private enum Outcome { case done, unanswered, noProcess }

    /// A process that has nothing to do ends after this.
    private static let idleLimit = Duration.seconds(60)
    /// At most so many calls follow each other, then comes a pause: 500 a second.
    private static let burst: UInt64 = 50
    private static let burstPause = Duration.milliseconds(100)
    private static let longestPause = Duration.seconds(60)
    private static let forever = Duration.seconds(3600)

    private let state = Guarded(State())
    private let process = Atomic<pid_t>(0)
    private let isExpecting = Atomic(false)
    private let word: [UInt8]

    init() {
        var generator = SystemRandomNumberGenerator()
        word = (0..<WatcherCommand.wordByteCount).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }

    // MARK: what the mount notes

    /// What is to be remembered. Wakes the thread if there is something to ask then.
    private func note(_ change: (inout SeenDirectories) -> Void) {
        let wakes = state.quietly { state in
            guard state.isEnabled else { return false }
            change(&state.seen)
            return state.seen.hasQuestion
        }
        if wakes { state.with { _ in } }
    }

    /// The agent says that names are other than they were.
    func changed(_ paths: [String]) { note { seen in for path in paths { seen.changed(path) } } }

    func changedEverywhere() { note { $0.changedEverywhere() } }

    /// To be noted before a list is read, for `listed`; nil where nothing of it is remembered.
    var mark: UInt64? { state.quietly { $0.isEnabled ? $0.seen.mark : nil } }

    func listed(_ directory: String, _ names: [NameKey: SeenName], since mark: UInt64) {
        note { $0.listed(directory, names, since: mark) }
    }

    /// More names of one directory than are remembered are not gathered.
    let listLimit = SeenDirectories().listLimit

    /// A program of this mount is about to change a name, or opens the file for writing.
    func began(_ path: String) { note { $0.began(path) } }

    func ended(_ path: String, _ outcome: SeenDirectories.Outcome) { note { $0.ended(path, outcome) } }

    /// A file that was open for writing is closed.
    func closed(_ file: OpenFile, _ node: NodeTable.Node?) {
        guard let node else { return }
        guard !node.isDetached, let status = file.status else { return ended(node.path, .failed) }
        let seen = SeenName(
            kind: .file, size: Int64(status.st_size), seconds: Int64(status.st_mtim.tv_sec),
            nanoseconds: UInt32(clamping: status.st_mtim.tv_nsec))
        ended(node.path, .seen(seen))
    }

    func renamed(_ source: String, to target: String, as seen: SeenName?) {
        note { $0.renamed(source, to: target, as: seen) }
    }

    // MARK: what the mount asks

    /// Whether a request is of the process that calls for watchers.
    func isCalling(_ caller: pid_t) -> Bool { caller > 0 && caller == process.load(ordering: .acquiring) }

    func verdict(on call: ExpectedCall.Call, at path: String) -> ExpectedCall.Verdict {
        state.quietly { $0.expected?.verdict(on: call, at: path) ?? ExpectedCall.verdict(unexpected: call) }
    }

    /// Whether a call at the path may be answered as done: it is still the one that is being made, and what has the name fits.
    func isTrue(_ path: String, now kind: MountEntry.Kind?) -> Bool {
        state.quietly { state in
            guard let expected = state.expected, expected.path.utf8.elementsEqual(path.utf8) else { return false }
            return expected.isTrue(now: kind)
        }
    }

    /// How long the kernel may keep that nobody has a name: not while watchers are about to hear that it has gone, since the call for that
    /// is not made where the kernel knows it.
    func validityOfNobodys(_ path: String) -> Duration {
        guard isExpecting.load(ordering: .acquiring) else { return MountDeadlines.presentValidity }
        let isExpected = state.quietly { $0.expected?.path.utf8.elementsEqual(path.utf8) ?? false }
        return isExpected ? .zero : MountDeadlines.presentValidity
    }

    /// The word by which that process knows this mount; nil for all others.
    func word(for caller: pid_t) -> [UInt8]? { isCalling(caller) ? word : nil }

    // MARK: the thread

    func start(_ session: Invalidation.Session, _ mount: Mount, _ directory: String) -> Bool {
        state.quietly { $0.isEnabled = true }
        return OwnedThread.start("watchers") { [self] in
            run(Calls(session: session, mount: mount, directory: directory))
        }
    }

    /// Ends the process. Returns when it is gone, or soon.
    func end() {
        state.with { $0.isEnding = true }
        let end = Clock.now + .seconds(1)
        while process.load(ordering: .acquiring) != 0, Clock.now < end {
            state.waitForChange { _ in process.load(ordering: .acquiring) == 0 ? nil : end - Clock.now }
        }
    }

    private func run(_ calls: Calls) {
        var failures = 0
        while !state.quietly({ $0.isEnding }) {
            guard let question = state.quietly({ $0.seen.takeQuestion() }) else {
                let rest = calls.caller == nil ? Self.forever : calls.usedAt + Self.idleLimit - Clock.now
                guard rest > .zero else {
                    endProcess(calls)
                    continue
                }
                state.waitForChange { $0.isEnding || $0.seen.hasQuestion ? nil : rest }
                continue
            }
            let outcome = answer(question, calls)
            state.quietly { state in
                state.seen.endQuestion()
                if outcome != .done { state.seen.repeatQuestion(question) }
            }
            guard outcome != .done else {
                failures = 0
                continue
            }
            if outcome == .noProcess { endProcess(calls) }
            pause(min(.seconds(1) * (1 << min(failures, 6)), Self.longestPause))
            failures += 1
        }
        endProcess(calls)
    }

    private func pause(_ length: Duration) {
        let end = Clock.now + length
        while Clock.now < end, !state.quietly({ $0.isEnding }) {
            state.waitForChange { $0.isEnding ? nil : end - Clock.now }
        }
    }

    private func endProcess(_ calls: Calls) {
        // From here on whatever it calls for is refused, until it is dead.
        expect(nil)
        calls.caller?.end { process.store(0, ordering: .releasing) }
        calls.caller = nil
        state.with { _ in }
    }

    private func expect(_ call: ExpectedCall?) {
        state.quietly { $0.expected = call }
        isExpecting.store(call != nil, ordering: .releasing)
    }

    // MARK: asking

    private func answer(_ question: SeenDirectories.Question, _ calls: Calls) -> Outcome {
        switch question {
        case .look(let path): look(path, calls)
        case .list(let directory): list(directory, calls)
        }
    }

    /// Whether the kernel knows a directory: what is watched it does.
    private func isKnown(_ directory: String, _ calls: Calls) -> Bool {
        let isKnown = calls.mount.nodes.withLock { !$0.numbers(at: directory).isEmpty }
        if !isKnown { state.quietly { $0.seen.forget(directory) } }
        return isKnown
    }

    private func look(_ path: String, _ calls: Calls) -> Outcome {
        guard let (directory, _) = NodeTable.split(path), isKnown(directory, calls) else { return .done }
        let now: SeenName?
        switch calls.ask(.look(path: path)) {
        case .success(.entry(let entry)): now = SeenName(entry)
        case .failure(.notFound): now = nil
        default: return .unanswered
        }
        return tell(state.quietly { $0.seen.found(path, now) }, at: path, now: now, calls)
    }

    private func list(_ directory: String, _ calls: Calls) -> Outcome {
        guard isKnown(directory, calls) else { return .done }
        switch calls.ask(.look(path: directory)) {
        case .success(.entry(let entry)) where entry.kind == .directory: break
        case .success(.entry), .failure(.notFound):
            state.quietly { $0.seen.forget(directory) }
            return .done
        default: return .unanswered
        }
        var (names, last): ([NameKey: SeenName], String?) = ([:], nil)
        while true {
            let question = MountRequest.list(
                directory: directory, after: last, limit: UInt32(MountLimits.pageCount))
            guard case .success(.page(let entries, let isLast)) = calls.ask(question) else { return .unanswered }
            for entry in entries { names[entry.name] = SeenName(entry) }
            last = entries.last?.name
            if isLast || last == nil { break }
            guard names.count <= listLimit else {
                state.quietly { $0.seen.forget(directory) }
                return .done
            }
        }
        guard state.quietly({ $0.seen.relisted(directory, names) }) else { return .done }
        // So many that they are told as one; who hears of it lists the directory.
        let root = SeenName(kind: .directory, size: 0, seconds: 0, nanoseconds: 0)
        return tell([.changed], at: directory, now: root, calls)
    }

    // MARK: telling

    private func tell(_ changes: [WatchedChange], at path: String, now: SeenName?, _ calls: Calls) -> Outcome {
        for change in changes {
            guard !state.quietly({ $0.seen.isTouched(path) }) else { break }
            guard let caller = running(calls) else { return .noProcess }
            expect(ExpectedCall(path: path, change: change))
            // The kernel may know the version before, or that nobody has the name. A directory that stays is left alone: it would be no
            // more the place of those in it.
            if change.isAboutFormer || now?.kind != .directory { calls.forget(path) }
            let result = caller.call(change.command(at: path))
            expect(nil)
            guard let result else { return .noProcess }
            calls.usedAt = Clock.now
            state.quietly { state in
                switch result {
                case 0: if case .removed = change { state.seen.told(path, nil) } else { state.seen.told(path, now) }
                // The directory cannot be changed, or the mount has gone.
                case EACCES, EPERM, EROFS, ENODEV: state.seen.told(path, now)
                default: state.seen.notTold(path, now)
                }
            }
            guard result == 0 else { break }
            calls.count += 1
            if calls.count % Self.burst == 0 { pause(Self.burstPause) }
        }
        return .done
    }

    private func running(_ calls: Calls) -> WatcherProcess? {
        if let caller = calls.caller { return caller }
        do throws(ChildProcess.StartError) {
            let caller = try WatcherProcess(directory: calls.directory, word: word)
            process.store(caller.number, ordering: .releasing)
            calls.caller = caller
            return caller
        } catch {
            MountProgram.say("Programs that watch directories receive no events for a while: \(error.reason).", -1)
            return nil
        }
    }
}

/// What the thread has at hand.
private final class Calls {
    let session: Invalidation.Session
    let mount: Mount
    let directory: String
    var caller: WatcherProcess?
    var usedAt = Duration.zero
    var count: UInt64 = 0

    init(session: Invalidation.Session, mount: Mount, directory: String) {
        (self.session, self.mount, self.directory) = (session, mount, directory)
    }

    /// Asks the agent and waits for the answer, at most as long as programs wait for a name.
    func ask(_ question: MountRequest) -> Result<MountAnswer, MountFailure> {
        let place = Guarded<Result<MountAnswer, MountFailure>?>(nil)
        mount.agent.ask(question, within: MountDeadlines.metadata) { result in
            if case .success(let answer) = result, let descriptor = answer.descriptor { close(descriptor) }
            place.with { $0 = result.map(\.answer) }
        }
        return place.wait { $0 }
    }

    /// Has the kernel look a name up again.
    func forget(_ path: String) {
        guard let (parent, name) = NodeTable.split(path) else { return }
        for number in mount.nodes.withLock({ $0.numbers(at: parent) }) {
            fuse_lowlevel_notify_inval_entry(session.raw, fuse_ino_t(number), name, name.utf8.count)
        }
    }
}

extension WatchedChange {
    fileprivate var isAboutFormer: Bool {
        if case .removed = self { return true }
        return false
    }

    fileprivate func command(at path: String) -> WatcherCommand {
        switch self {
        case .made(let kind): .make(kind, path: path)
        case .changed: .touch(path: path)
        case .removed(let former): .remove(isDirectory: former.kind == .directory, path: path)
        }
    }
}
