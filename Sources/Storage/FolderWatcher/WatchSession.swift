import FileAccess
import Glibc
import Logging

/// One life of the watch program: starts it, sets the watches, and turns its frames into folder events until it ends or
/// is told to stop. Belongs to one thread, which it blocks.
struct WatchSession {
    /// Why a session is over.
    enum Outcome: Hashable, Sendable {
        case stopped
        case cannotStart(errno: Int32)
        case refused(WatchFrame.FatalStage, errno: Int32)
        /// The program ended; its status as waitpid(2) gives it.
        case ended(status: Int32)
        /// The program said what makes no sense.
        case garbage(String)
        case overflow
        case rootGone
    }

    /// What the session gives to the watcher after each turn.
    struct Turn {
        var events: [FolderEvent] = []
        /// Set when all watches are set, and again when their state changed since.
        var state: WatchState?
        /// Whether this is the first time that all watches are set.
        var isComplete = false
    }

    /// What the watcher wants of the session.
    struct Wish {
        var isStopping = false
        /// Look at all directories again: the selection changed, or there may be room for more watches.
        var walksAgain = false
        /// In the place of these other directories may be, as where a disk was mounted: they and all below are watched again.
        var replaced: Set<RelativePath> = []
    }

    let root: RootDirectory
    let program: String
    let isWatched: @Sendable (RelativePath?) -> Bool
    /// Readable when there is a wish.
    let wake: CInt
    let elapsed: () -> Duration
    let logger: Logger
    let wish: () -> Wish
    let give: (Turn) -> Void

    private var tree = WatchTree()
    private var decoder = WatchFrameDecoder()
    private var output: [UInt8] = []
    /// Directories to be looked at, from `queueStart` on.
    private var queue: [WatchTree.ID] = []
    private var queueStart = 0
    /// Directories that moved away; the second half of the rename may follow.
    private var detached: [UInt32: (directory: WatchTree.ID, since: Duration, missed: Bool)] = [:]
    private var isGreeted = false
    private var isComplete = false
    /// Whether the state is to be told when there is nothing left to do.
    private var tellsState = true
    /// How many directories were watched when the state was told.
    private var toldCount = 0
    private var turn = Turn()

    /// So many bytes of commands may wait; the walk goes on when there are fewer.
    private static let outputLimit = 1 << 16
    private static let directoriesPerTurn = 32
    private static let detachedLimit = 256
    /// A directory that moved out of what is watched is let go when this has passed.
    private static let detachedTime = Duration.seconds(1)

    init(
        root: RootDirectory, program: String, isWatched: @escaping @Sendable (RelativePath?) -> Bool, wake: CInt,
        elapsed: @escaping () -> Duration, logger: Logger, wish: @escaping () -> Wish, give: @escaping (Turn) -> Void
    ) {
        self.root = root
        self.program = program
        self.isWatched = isWatched
        self.wake = wake
        self.elapsed = elapsed
        self.logger = logger
        self.wish = wish
        self.give = give
    }

    /// Runs until the program ends or `wish` says to stop. The program is reaped on return.
    mutating func run() -> Outcome {
        let child: WatchChild
        do {
            child = try WatchChild(program: program, root: root.path)
        } catch {
            return .cannotStart(errno: error.errno)
        }
        let outcome = serve(child.socket)
        let status = child.end()
        if case .ended = outcome { return .ended(status: status) }
        return outcome
    }

    private mutating func serve(_ socket: CInt) -> Outcome {
        while true {
            var polled = [
                pollfd(fd: socket, events: Int16(output.isEmpty ? POLLIN : POLLIN | POLLOUT), revents: 0),
                pollfd(fd: wake, events: Int16(POLLIN), revents: 0),
            ]
            if poll(&polled, nfds_t(polled.count), canWalk ? 0 : -1) < 0, errno != EINTR {
                return .garbage("it cannot be waited for: \(String(cString: strerror(errno)))")
            }
            if polled[1].revents != 0, let outcome = obeyWish() { return outcome }
            if polled[0].revents & Int16(POLLIN | POLLHUP | POLLERR) != 0, let outcome = receive(socket) {
                give(turn)
                return outcome
            }
            releaseDetached()
            walk()
            guard send(socket) else { return .ended(status: 0) }
            completeIfIdle()
            if !turn.events.isEmpty || turn.state != nil {
                give(turn)
                turn = Turn()
            }
        }
    }

    private mutating func obeyWish() -> Outcome? {
        var bytes = [UInt8](repeating: 0, count: 64)
        while read(wake, &bytes, bytes.count) > 0 {}
        let wish = wish()
        if wish.isStopping { return .stopped }
        if wish.walksAgain {
            enqueue(WatchTree.root)
            tellsState = true
        }
        for path in wish.replaced.sorted() { replace(path) }
        return nil
    }

    /// Watches what is at `path` now in place of what was there.
    private mutating func replace(_ path: RelativePath) {
        guard let parent = tree.directory(at: path.parent), let name = RelativePath(path.name) else { return }
        if let known = tree.child(of: parent, named: name) { unwatch(tree.remove(known)) }
        if isToBeWatched(path) { enqueue(tree.enter(name, in: parent)) }
    }

    // MARK: bytes

    private mutating func send(_ socket: CInt) -> Bool {
        while !output.isEmpty {
            let count = output.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
            if count < 0 {
                if errno == EINTR { continue }
                return errno == EAGAIN
            }
            output.removeFirst(count)
        }
        return true
    }

    private mutating func receive(_ socket: CInt) -> Outcome? {
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = bytes.withUnsafeMutableBytes { read(socket, $0.baseAddress, $0.count) }
        if count < 0 { return errno == EAGAIN || errno == EINTR ? nil : .ended(status: 0) }
        if count == 0 { return .ended(status: 0) }
        decoder.feed(bytes[..<count])
        while true {
            do {
                guard let frame = try decoder.next() else { return nil }
                if let outcome = handle(frame) { return outcome }
            } catch {
                return .garbage(error.rawValue)
            }
        }
    }

    private mutating func say(_ command: WatchCommand) { command.encode(into: &output) }

    // MARK: frames

    private mutating func handle(_ frame: WatchFrame) -> Outcome? {
        guard isGreeted else { return greet(frame) }
        switch frame {
        case .hello: return .garbage("it greets twice")
        case .watching(let request, let watch, let wasWatched): accept(request, watch, wasWatched)
        case .failed(let request, let error): return refuse(request, error)
        case .event(let event): return handle(event)
        case .gone(let watch):
            guard let directory = tree.drop(watch) else { return nil }
            if directory == WatchTree.root { return .rootGone }
            // Most often the directory is gone too; but another may have its name, or we let go of the watch too late.
            enqueue(directory)
        case .overflow: return .overflow
        case .fatal(let stage, let error): return .refused(stage, errno: error)
        }
        return nil
    }

    private mutating func greet(_ frame: WatchFrame) -> Outcome? {
        switch frame {
        case .hello(let device, let inode):
            guard let status = try? root.status(), status.device == device, status.inode == inode else {
                return .rootGone
            }
            isGreeted = true
            enqueue(WatchTree.root)
            return nil
        case .fatal(let stage, let error): return .refused(stage, errno: error)
        default: return .garbage("it does not greet")
        }
    }

    private mutating func accept(_ request: UInt32, _ watch: Int32, _ wasWatched: Bool) {
        guard let directory = tree.takeRequest(request), tree.contains(directory) else {
            // Removed from the tree since it was asked for; the watch, unless it is another's, is not wanted.
            if tree.directory(of: watch) == nil { say(.unwatch(watch: watch)) }
            return
        }
        if wasWatched, let other = tree.directory(of: watch), other != directory {
            separate(directory, from: other, watch)
            return
        }
        tree.set(watch, for: directory)
        enqueue(directory)
        appear(directory)
    }

    /// A directory is watched already, as another one: it was moved and we are yet to be told, or it is mounted twice.
    private mutating func separate(_ directory: WatchTree.ID, from other: WatchTree.ID, _ watch: Int32) {
        if let path = tree.place(of: directory).directory, let otherPath = tree.place(of: other).directory,
            let here = try? status(of: path), let there = try? status(of: otherPath),
            there.inode == here.inode, there.device == here.device
        {
            // The kernel tells of changes once, under the other name.
            tree.fail(directory, error: EEXIST)
            logger.debug("a directory is in the folder twice", metadata: ["path": "\(path?.text ?? "")"])
            return
        }
        say(.unwatch(watch: watch))
        _ = tree.drop(watch)
        tree.fail(directory, error: EAGAIN)
        enqueue(other)
        enqueue(directory)
    }

    private func status(of path: RelativePath?) throws -> FileStatus? {
        guard let path else { return try root.status() }
        return try root.status(of: path)
    }

    private mutating func refuse(_ request: UInt32, _ error: Int32) -> Outcome? {
        // An answer to an earlier request, under another name: the later one counts.
        guard let directory = tree.takeRequest(request), tree.watch(of: directory) == .requested(request) else {
            return nil
        }
        if directory == WatchTree.root, error == ENOENT || error == ENOTDIR || error == ESTALE { return .rootGone }
        appear(directory)
        switch error {
        case ENOENT, ENOTDIR, ELOOP, EXDEV: unwatch(tree.remove(directory))
        default:
            tree.fail(directory, error: error)
            tellsState = true
        }
        return nil
    }

    /// Whatever was done in the directory before its watch was set is only found by looking.
    private mutating func appear(_ directory: WatchTree.ID) {
        guard isComplete, case .below(let path) = tree.place(of: directory) else { return }
        turn.events.append(.appeared(path))
    }

    private mutating func unwatch(_ watches: [Int32]) {
        for watch in watches { say(.unwatch(watch: watch)) }
    }

    // MARK: events

    private mutating func handle(_ event: WatchEvent) -> Outcome? {
        guard let directory = tree.directory(of: event.watch) else { return nil }
        let place = tree.place(of: directory)
        let mask = Mask(rawValue: event.mask)
        if directory == WatchTree.root, !mask.isDisjoint(with: [.deletedSelf, .movedSelf, .unmounted]) {
            return .rootGone
        }
        guard let parent = place.directory else {
            for (cookie, entry) in detached where contains(entry.directory, directory) {
                detached[cookie]?.missed = true
            }
            return nil
        }
        if mask.contains(.unmounted) {
            turn.events.append(.lost(parent, .unmounted))
            return nil
        }
        // The directory's own status: its parent tells of it too.
        guard !event.name.isEmpty else { return nil }
        guard let text = String(validating: event.name, as: UTF8.self), let name = RelativePath(text),
            name.parent == nil
        else {
            turn.events.append(.unnamed(in: parent))
            return nil
        }
        guard !name.isTemporary else { return nil }
        guard let path = parent.map({ try? $0.appending(text) }) ?? name else {
            turn.events.append(.unnamed(in: parent))
            return nil
        }
        handle(mask, event.cookie, Name(name: name, path: path, parent: directory))
        return nil
    }

    private func contains(_ ancestor: WatchTree.ID, _ directory: WatchTree.ID) -> Bool {
        var current: WatchTree.ID? = directory
        while let here = current {
            if here == ancestor { return true }
            current = tree.parent(of: here)
        }
        return false
    }

    private struct Name {
        let name: RelativePath
        let path: RelativePath
        let parent: WatchTree.ID
    }

    private mutating func handle(_ mask: Mask, _ cookie: UInt32, _ name: Name) {
        let isDirectory = mask.contains(.isDirectory)
        if mask.contains(.movedFrom) {
            if isDirectory, let known = tree.child(of: name.parent, named: name.name) { detach(known, cookie) }
            turn.events.append(.movedAway(name.path, cookie: cookie, isDirectory: isDirectory))
        } else if mask.contains(.movedTo) {
            turn.events.append(.movedHere(name.path, cookie: cookie, isDirectory: isDirectory))
            if isDirectory { arrive(name, cookie) }
        } else if mask.contains(.created) {
            if isDirectory { make(name) } else { turn.events.append(created(name.path)) }
        } else if mask.contains(.deleted) {
            // The kernel has removed the watches below.
            if isDirectory, let known = tree.child(of: name.parent, named: name.name) { _ = tree.remove(known) }
            turn.events.append(.removed(name.path, isDirectory: isDirectory))
        } else if mask.contains(.closedWrite) {
            turn.events.append(.closed(name.path))
        } else if mask.contains(.modified) {
            turn.events.append(.written(name.path))
        } else if mask.contains(.attributes) {
            // One that this user could not read may be readable now.
            if isDirectory, let known = tree.child(of: name.parent, named: name.name),
                case .failed = tree.watch(of: known)
            {
                enqueue(known)
            }
            turn.events.append(.touched(name.path))
        }
    }

    /// A file that was opened to be written is closed some time; a link, a pipe or a second name of a file is not.
    private func created(_ path: RelativePath) -> FolderEvent {
        let status = try? root.status(of: path)
        let isAwaited = status.map { $0.type == .regular && $0.linkCount == 1 && $0.size == 0 } ?? false
        return .created(path, isComplete: !isAwaited)
    }

    private mutating func make(_ name: Name) {
        // A directory of that name that we know went without our being told.
        if let stale = tree.child(of: name.parent, named: name.name) { unwatch(tree.remove(stale)) }
        guard isToBeWatched(name.path) else {
            turn.events.append(.created(name.path, isComplete: true))
            return
        }
        enqueue(tree.enter(name.name, in: name.parent))
    }

    private mutating func detach(_ directory: WatchTree.ID, _ cookie: UInt32) {
        if detached.count >= Self.detachedLimit { releaseDetached(all: true) }
        tree.detach(directory)
        detached[cookie] = (directory, elapsed(), false)
    }

    private mutating func arrive(_ name: Name, _ cookie: UInt32) {
        guard let known = detached.removeValue(forKey: cookie), tree.contains(known.directory) else {
            if isToBeWatched(name.path) {
                if let stale = tree.child(of: name.parent, named: name.name) { unwatch(tree.remove(stale)) }
                enqueue(tree.enter(name.name, in: name.parent))
            }
            return
        }
        unwatch(tree.attach(known.directory, as: name.name, in: name.parent))
        if known.missed { turn.events.append(.appeared(name.path)) }
        // Other directories may be selected under the new name, and requests under the old one may have failed.
        enqueue(known.directory)
    }

    private mutating func releaseDetached(all: Bool = false) {
        guard !detached.isEmpty else { return }
        let now = elapsed()
        for (cookie, entry) in detached where all || now - entry.since > Self.detachedTime {
            detached.removeValue(forKey: cookie)
            // It may have been found elsewhere by then.
            if tree.parent(of: entry.directory) == nil { unwatch(tree.remove(entry.directory)) }
        }
    }

    // MARK: walking

    private var canWalk: Bool { queueStart < queue.count && output.count < Self.outputLimit }

    private mutating func enqueue(_ directory: WatchTree.ID) { queue.append(directory) }

    private mutating func walk() {
        for _ in 0..<Self.directoriesPerTurn {
            guard canWalk else { break }
            let directory = queue[queueStart]
            queueStart += 1
            visit(directory)
        }
        if queueStart == queue.count {
            queue.removeAll()
            queueStart = 0
        } else if queueStart > 4096, queueStart > queue.count / 2 {
            queue.removeFirst(queueStart)
            queueStart = 0
        }
    }

    private func isToBeWatched(_ path: RelativePath) -> Bool {
        !path.isInternal && !path.isTemporary && isWatched(path)
    }

    private mutating func visit(_ directory: WatchTree.ID) {
        guard let path = tree.place(of: directory).directory else { return }
        if let path, !isToBeWatched(path) {
            unwatch(tree.remove(directory))
            return
        }
        switch tree.watch(of: directory) {
        // Asked for before, that may have been under a name that it has lost since.
        case .none, .failed, .requested:
            say(.watch(request: tree.request(directory), path: path?.text ?? ""))
        case .set: list(directory, path)
        }
    }

    private mutating func list(_ directory: WatchTree.ID, _ path: RelativePath?) {
        let entries: [DirectoryEntry]
        do throws(FileAccessError) {
            entries = try root.directory(path).list().filter { $0.type == .directory }
        } catch {
            // Gone, and its parent will say so; or not to be read, which the scanner tells the user.
            logger.debug("\(error)")
            return
        }
        var present: Set<RelativePath> = []
        for entry in entries {
            guard let text = entry.name, let name = RelativePath(text) else { continue }
            guard let child = path.map({ try? $0.appending(text) }) ?? name, isToBeWatched(child) else { continue }
            present.insert(name)
            enqueue(tree.enter(name, in: directory))
        }
        for (name, child) in tree.children(of: directory) where !present.contains(name) {
            unwatch(tree.remove(child))
        }
    }

    private mutating func completeIfIdle() {
        guard isGreeted, queue.isEmpty, output.isEmpty, tree.requestCount == 0 else { return }
        guard tellsState || tree.watchedCount != toldCount else { return }
        (tellsState, toldCount) = (false, tree.watchedCount)
        turn.state = WatchImpairment.state(watched: tree.watchedCount, failures: tree.failures)
        turn.isComplete = !isComplete
        isComplete = true
    }

    /// The bits of inotify(7).
    private struct Mask: OptionSet {
        let rawValue: UInt32
        static let modified = Mask(rawValue: 0x2)
        static let attributes = Mask(rawValue: 0x4)
        static let closedWrite = Mask(rawValue: 0x8)
        static let movedFrom = Mask(rawValue: 0x40)
        static let movedTo = Mask(rawValue: 0x80)
        static let created = Mask(rawValue: 0x100)
        static let deleted = Mask(rawValue: 0x200)
        static let deletedSelf = Mask(rawValue: 0x400)
        static let movedSelf = Mask(rawValue: 0x800)
        static let unmounted = Mask(rawValue: 0x2000)
        static let isDirectory = Mask(rawValue: 0x4000_0000)
    }
}
