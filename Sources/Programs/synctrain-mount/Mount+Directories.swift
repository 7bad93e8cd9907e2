import CFuse
import Glibc
import MountProtocol
import MountRules
import Names
import Synchronization

/// An open directory: the page that is being read, and where each page begins, so that a program may go back.
final class OpenDirectory: Sendable {
    struct State {
        /// Of each page the number of its first name in the directory, and the name before that.
        var starts: [(first: Int64, after: String?)] = [(0, nil)]
        /// The page in memory.
        var first: Int64 = 0
        var entries: [MountEntry] = []
        var isLast = false
        var isRead = false
        /// The names so far, for those who watch; nil if not all were read in order, or they are too many.
        var seen: (names: [NameKey: SeenName], count: Int64, mark: UInt64)?

        /// Behind which name, numbered from `first` on, a program that goes on at `position` has to read; nil if that was read.
        mutating func start(toRead position: Int64) -> (first: Int64, after: String?)? {
            let end = first + Int64(entries.count)
            if isRead, position >= first, position < end || position == end && isLast { return nil }
            // Also further behind: the kernel begins in the middle when a list that it kept is dropped while it gives it.
            if isRead, position >= end, let last = entries.last {
                starts.removeAll { $0.first >= end }
                starts.append((end, last.name))
            }
            return starts.last { $0.first <= position } ?? (0, nil)
        }

        /// A page was read.
        ///
        /// - Parameters:
        ///   - mark: of the first page, from before it was asked for.
        ///   - limit: names that are gathered at most.
        /// - Returns: all names, once the last page was read.
        mutating func gather(
            _ entries: [MountEntry], first: Int64, isLast: Bool, mark: UInt64?, limit: Int
        ) -> (names: [NameKey: SeenName], mark: UInt64)? {
            if first == 0 { seen = mark.map { ([:], 0, $0) } }
            // Out of its place first, or the names would be copied.
            guard var all = seen.take(), all.count == first, all.names.count + entries.count <= limit else {
                return nil
            }
            for entry in entries { all.names[entry.name] = SeenName(entry) }
            // bounded: the limit
            all.count += Int64(entries.count)
            if isLast { return (all.names, all.mark) }
            seen = all
            return nil
        }
    }

    /// It may have another path by now than when it was opened.
    let node: UInt64
    /// How many notices of changes the kernel had got when this was opened; nil if the kernel keeps nothing of what is read.
    let keptSince: Int?
    let state = Mutex(State())

    init(node: UInt64, keptSince: Int?) {
        self.node = node
        self.keptSince = keptSince
    }
}

/// Listing directories.
extension Mount {
    private static let directoryLimit = 1024
    /// Offsets 1 and 2 stand behind `.` and `..`; the first name has 3 behind it.
    private static let firstName: Int64 = 2

    func openDirectory(_ request: Request, _ number: UInt64, _ info: fuse_file_info) {
        guard let node = nodes.withLock({ $0[number] }) else { return request.fail(ESTALE) }
        // Of a directory that is not on this disk all changes are heard of: the kernel keeps the list until then.
        let isKept = !node.entry.isHere && node.asOf != nil && !node.isDetached
        let noticeCount = isKept ? invalidation.noticeCount : nil
        let key = handles.withLock { handles -> UInt64? in
            guard handles.directories.count < Self.directoryLimit else { return nil }
            defer { handles.next &+= 1 }
            handles.directories[handles.next] = OpenDirectory(node: number, keptSince: noticeCount)
            return handles.next
        }
        guard let key else { return request.fail(ENFILE) }
        var info = info
        info.fh = key
        if isKept { (info.cache_readdir, info.keep_cache) = (1, 1) }
        if fuse_reply_open(request.raw, &info) == -ENOENT {
            _ = handles.withLock { $0.directories.removeValue(forKey: key) }
        }
    }

    func closeDirectory(_ key: UInt64) {
        guard let directory = handles.withLock({ $0.directories.removeValue(forKey: key) }) else { return }
        // What was read before a change may have been kept behind the notice of it.
        if let count = directory.keptSince, count != invalidation.noticeCount {
            invalidation.add(.listing(directory.node))
        }
    }

    func readDirectory(_ request: Request, _ key: UInt64, offset: Int64, size: Int) {
        guard let directory = handles.withLock({ $0.directories[key] }), offset >= 0 else { return request.fail(EBADF) }
        fill(request, directory, offset, size)
    }

    private func fill(_ request: Request, _ directory: OpenDirectory, _ offset: Int64, _ size: Int) {
        /// What is to be read first: the names behind this one, which are numbered from there.
        enum Step {
            case reply([CChar])
            case read(first: Int64, after: String?)
        }
        guard let path = path(of: directory) else { return request.fail(ENOENT) }
        let position = max(0, offset - Self.firstName)
        let step = directory.state.withLock { state -> Step in
            // A program that begins again sees the names that there are now.
            if offset == 0 { state = OpenDirectory.State() }
            if let start = state.start(toRead: position) { return .read(first: start.first, after: start.after) }
            return .reply(names(in: path, state, offset, size, request))
        }
        switch step {
        case .reply(let buffer):
            buffer.withUnsafeBufferPointer { _ = fuse_reply_buf(request.raw, $0.baseAddress, $0.count) }
            let excess = nodes.withLock { $0.excess() }
            if !excess.isEmpty { invalidation.add(.paths(excess)) }
        case .read(let first, let after):
            let question = MountRequest.list(directory: path, after: after, limit: UInt32(MountLimits.pageCount))
            let mark = first == 0 ? watching.mark : nil
            ask(question, for: request, within: MountDeadlines.metadata) { [self] result in
                switch result {
                case .success(let answer):
                    guard case .page(let entries, let isLast) = answer.answer else { return request.fail(EIO) }
                    // Nothing is where it was if it got another name meanwhile.
                    guard self.path(of: directory).map({ NameKey($0) }) == NameKey(path) else {
                        return fill(request, directory, offset, size)
                    }
                    // A page without names is the last one, or the next would never come.
                    let isEnd = isLast || entries.isEmpty
                    let all = directory.state.withLock { state in
                        (state.first, state.entries, state.isRead, state.isLast) = (first, entries, true, isEnd)
                        return state.gather(
                            entries, first: first, isLast: isEnd, mark: mark, limit: watching.listLimit)
                    }
                    if let all { watching.listed(path, all.names, since: all.mark) }
                    // A program that goes to where no name is any more is at the end.
                    if isEnd, position > first + Int64(entries.count) { return request.reply([]) }
                    fill(request, directory, max(offset, 1), size, isAgain: offset == 0)
                case .failure(let failure): request.fail(failure.number)
                }
            }
        }
    }

    /// After a page was read: from the beginning that page is the one that is meant.
    private func fill(
        _ request: Request, _ directory: OpenDirectory, _ offset: Int64, _ size: Int, isAgain: Bool
    ) {
        guard isAgain else { return fill(request, directory, offset, size) }
        guard let path = path(of: directory) else { return request.fail(ENOENT) }
        let buffer = directory.state.withLock { names(in: path, $0, 0, size, request) }
        buffer.withUnsafeBufferPointer { _ = fuse_reply_buf(request.raw, $0.baseAddress, $0.count) }
    }

    /// Where an open directory is by now; nil for one that is nowhere any more.
    private func path(of directory: OpenDirectory) -> String? {
        nodes.withLock { $0[directory.node] }.flatMap { $0.isDetached ? nil : $0.path }
    }

    /// The names of the page from `offset` on, as many as fit; each counts as looked up.
    private func names(
        in directory: String, _ state: OpenDirectory.State, _ offset: Int64, _ size: Int, _ request: Request
    ) -> [CChar] {
        [CChar](unsafeUninitializedCapacity: size) { buffer, used in
            used = 0
            guard let base = buffer.baseAddress else { return }
            func add(_ name: String, _ parameters: inout fuse_entry_param, _ next: Int64) -> Bool {
                let needed = fuse_add_direntry_plus(
                    request.raw, base + used, size - used, name, &parameters, off_t(next))
                guard needed <= size - used else { return false }
                used += needed
                return true
            }
            var position = offset
            while position < Self.firstName {
                // Without a node: the kernel knows these two.
                var parameters = fuse_entry_param()
                parameters.attr.st_ino = ino_t(NodeTable.inode(of: directory))
                parameters.attr.st_mode = Glibc.S_IFDIR
                guard add(position == 0 ? "." : "..", &parameters, position + 1) else { return }
                position += 1
            }
            while true {
                let index = Int(position - Self.firstName - state.first)
                guard state.entries.indices.contains(index) else { return }
                let entry = state.entries[index]
                var parameters = parameters(entry, at: NodeTable.join(directory, entry.name))
                guard add(entry.name, &parameters, position + 1) else {
                    nodes.withLock { $0.forget(UInt64(parameters.ino), 1) }
                    return
                }
                position += 1
            }
        }
    }
}
