import CLinux
import FileAccess
import Glibc
import Synchronization

/// The disk of one simulated agent: real files beneath a real directory, and between them and the agent's calls
/// somebody who can let the disk fill up, fail now and then, and die in the middle with what was not made durable lost.
///
/// Nothing is made durable for real: it is only noted what would be. What others than the agent write counts as
/// durable at once, but for `writtenByUser` and `removeAsUser`.
package final class FaultyDisk: DiskInterposer {
    package enum Condition: Equatable, Sendable {
        case healthy
        /// Nothing new gets onto it.
        case full
        /// One call in so many fails with EIO.
        case failing(oneIn: Int)
        /// Every call that this errno can come from fails with it: what takes space for ENOSPC and EDQUOT, what opens for
        /// EMFILE, all for others.
        case refusing(CInt)
    }

    /// How a process ends in the middle of something.
    package enum End: Equatable, Sendable {
        /// What it did stays.
        case killed
        /// What it did not make durable may be lost.
        case powerLost
    }

    /// What a disk says is durable and is not.
    package enum Forgetting: Sendable { case contents, names }

    private struct Failure {
        var number: CInt
        /// Changes before it.
        var remaining: Int
        /// Whether all after it fail, too.
        var isLasting: Bool
        /// What it was, once it has failed.
        var words: String?
    }

    private struct State {
        var generator: SeededGenerator
        var condition = Condition.healthy
        var isDead = false
        /// Changes until the process dies; nil for none.
        var remaining: Int?
        var end = End.killed
        /// The one change that fails, or has failed.
        var failure: Failure?
        var otherDisk: String?
        var mayLosePower = true
        var forgetting: Forgetting?
        /// Inodes of files with contents that are not durable.
        var dirty: Set<UInt64> = []
        /// Changes of names that are not durable, oldest first.
        var journal: [NameChange] = []
        var trashCount = 0
    }

    /// The directory that the folder lies in, without links on the way.
    package let root: String
    private let trash: String
    /// Which names are one to it; nil for an ordinary disk.
    private let folding: FoldedNames?
    private let state: Mutex<State>
    /// Told of every change in words that are the same in every run.
    private let note: @Sendable (String) -> Void
    /// Told of each name, relative to the root, that the agent fills or empties.
    private let check: @Sendable (_ name: String, _ isFilled: Bool) -> Void
    /// Called when the process dies, from within one of its calls.
    private let died: @Sendable () -> Void

    /// - Parameter trash: an empty directory on the same file system, outside of `root`.
    package init(
        root: String, trash: String, seed: UInt64, folding: FoldedNames? = nil,
        note: @escaping @Sendable (String) -> Void,
        check: @escaping @Sendable (_ name: String, _ isFilled: Bool) -> Void, died: @escaping @Sendable () -> Void
    ) {
        self.root = root
        self.trash = trash
        self.folding = folding
        self.note = note
        self.check = check
        self.died = died
        state = Mutex(State(generator: SeededGenerator(seed: seed)))
    }

    package var condition: Condition {
        get { state.withLock { $0.condition } }
        set { state.withLock { $0.condition = newValue } }
    }

    package var isDead: Bool { state.withLock { $0.isDead } }

    /// Lets the process die before or after one of the next calls that change something.
    package func plan(_ end: End, after changes: Int) {
        state.withLock { state in
            state.remaining = changes
            state.end = end
        }
    }

    package func planNoEnd() { state.withLock { $0.remaining = nil } }

    /// Lets one of the next changes fail with `number`, and all after it if it is to last; those before it are made.
    package func planFailure(_ number: CInt, after changes: Int, isLasting: Bool = false) {
        state.withLock { $0.failure = Failure(number: number, remaining: changes, isLasting: isLasting) }
    }

    /// Ends that. Gives the change that failed, in words; nil if there were too few.
    package func endFailure() -> String? {
        state.withLock { state in
            defer { state.failure = nil }
            return state.failure?.words
        }
    }

    /// What is beneath this path counts as another disk: no name moves between it and the rest. Nil for one disk.
    package var otherDisk: String? {
        get { state.withLock { $0.otherDisk } }
        set { state.withLock { $0.otherDisk = newValue } }
    }

    /// Whether the disk remembers how to take back what is not durable, which costs what is removed a second link.
    package var mayLosePower: Bool {
        get { state.withLock { $0.mayLosePower } }
        set { state.withLock { $0.mayLosePower = newValue } }
    }

    /// What nothing makes durable; nil for an honest disk.
    package var forgetting: Forgetting? {
        get { state.withLock { $0.forgetting } }
        set { state.withLock { $0.forgetting = newValue } }
    }

    /// Ends the process now, between two of its calls.
    package func kill(_ end: End) {
        state.withLock { state in
            state.isDead = true
            state.end = end
        }
    }

    /// What somebody else changed is durable, and so are the names that it was found under and that lie below it.
    package func changedByUser(_ path: String) {
        var status = stat()
        let isThere = lstat(path, &status) == 0
        state.withLock { state in
            state.journal.removeAll { $0.concerns(path) }
            if isThere { state.dirty.remove(UInt64(status.st_ino)) }
        }
    }

    /// What somebody else wrote, and left to the kernel to make durable.
    ///
    /// - Parameter isNew: whether there was nothing at the path before.
    package func writtenByUser(_ path: String, isNew: Bool) {
        var (status, parent) = (stat(), stat())
        let directory = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
        guard lstat(path, &status) == 0, lstat(directory, &parent) == 0 else { return }
        let place = Place(path: path, directory: UInt64(parent.st_ino))
        let isDirectory = status.st_mode & S_IFMT == S_IFDIR
        state.withLock { state in
            if !isDirectory { state.dirty.insert(UInt64(status.st_ino)) }
            if isNew { state.journal.append(isDirectory ? .madeDirectory(place) : .filled(place)) }
        }
    }

    /// Removes a file as somebody else does who leaves it to the kernel to make that durable. False if it cannot be removed.
    package func removeAsUser(_ path: String) -> Bool {
        var parent = stat()
        guard lstat(String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]), &parent) == 0 else { return false }
        let place = Place(path: path, directory: UInt64(parent.st_ino))
        return state.withLock { state in
            guard let copy = keep(place, &state), unlink(path) == 0 else { return false }
            state.journal.append(.removed(place, copy: copy))
            return true
        }
    }

    /// Whether the file at the path, and its name, would be there after a loss of power.
    package func isDurable(_ path: String) -> Bool {
        var status = stat()
        guard lstat(path, &status) == 0 else { return false }
        return state.withLock { state in
            !state.dirty.contains(UInt64(status.st_ino)) && !state.journal.contains { $0.concerns(path) }
        }
    }

    /// Takes away what was not durable, if the power was lost, and lets the next process use the disk. Gives what was
    /// lost, in words.
    package func restart() -> [String] {
        state.withLock { state in
            defer {
                state.isDead = false
                state.remaining = nil
                state.dirty = []
                state.journal = []
            }
            return state.end == .powerLost ? losePower(&state) : []
        }
    }

    // MARK: the calls

    package func spelling(of path: String, in directory: CInt) -> String {
        folding?.spelling(of: path, in: self.path(of: directory)) ?? path
    }

    package func kind(of directory: CInt) -> DirectoryKind? {
        folding.map { _ in DirectoryKind(isOrdinary: false, foldsCase: false) }
    }

    package func verdict(on change: DiskChange) -> DiskVerdict {
        let (verdict, words, hasDied) = state.withLock { state in decide(on: change, &state) }
        if let words { note(words) }
        if hasDied { died() }
        return verdict
    }

    private func decide(on change: DiskChange, _ state: inout State) -> (DiskVerdict, String?, Bool) {
        guard !state.isDead else { return (.fail(EIO), nil, false) }
        let words = words(for: change)
        var hasDied = false
        if let remaining = state.remaining {
            if remaining <= 0 {
                state.isDead = true
                // Half of the deaths are right before the call, half right after it.
                if state.generator.isOne(in: 2) { return (.fail(EIO), "died before \(words)", true) }
                hasDied = true
            }
            state.remaining = remaining - 1
        }
        if crossesDisks(change, state.otherDisk) { return (.fail(EXDEV), "\(words): other disk", hasDied) }
        if let failure = state.failure, failure.words == nil || failure.isLasting {
            state.failure?.remaining -= 1
            if failure.remaining <= 0 {
                state.failure?.words = failure.words ?? words
                return (.fail(failure.number), "\(words): errno \(failure.number)", hasDied)
            }
        }
        switch state.condition {
        case .full where takesSpace(change): return (.fail(ENOSPC), "\(words): full", hasDied)
        case .failing(let count) where state.generator.isOne(in: count):
            return (.fail(EIO), "\(words): failed", hasDied)
        case .refusing(let number) where refuses(change, with: number):
            return (.fail(number), "\(words): errno \(number)", hasDied)
        default: break
        }
        let verdict = remember(change, &state)
        return (verdict, hasDied ? "\(words), died" : words, hasDied)
    }

    private func refuses(_ change: DiskChange, with number: CInt) -> Bool {
        switch number {
        case ENOSPC, EDQUOT: return takesSpace(change)
        case EMFILE, ENFILE: if case .create = change { return true } else { return false }
        default: return true
        }
    }

    private func crossesDisks(_ change: DiskChange, _ otherDisk: String?) -> Bool {
        guard let otherDisk else { return false }
        switch change {
        case .link(let from, _, let to, _), .rename(let from, _, let to, _, _):
            return isBeneath(otherDisk, path(of: from)) != isBeneath(otherDisk, path(of: to))
        default: return false
        }
    }

    private func isBeneath(_ directory: String, _ path: String) -> Bool {
        path == directory || path.hasPrefix(directory + "/")
    }

    private func takesSpace(_ change: DiskChange) -> Bool {
        switch change {
        case .create, .makeDirectory, .makeSymlink, .link, .write: true
        case .rename, .unlink, .removeDirectory, .truncate, .setPermissions, .setAttributes, .setTimes, .setTimesByName,
            .synchronize, .synchronizeFileSystem:
            false
        }
    }

    /// Notes what a change means for what is durable.
    private func remember(_ change: DiskChange, _ state: inout State) -> DiskVerdict {
        switch change {
        case .create(let directory, let name):
            if status(directory, name) == nil { state.journal.append(.filled(place(directory, name))) }
            check(relative(directory, name), true)
        case .makeDirectory(let directory, let name):
            if status(directory, name) == nil { state.journal.append(.madeDirectory(place(directory, name))) }
            check(relative(directory, name), true)
        case .makeSymlink(let directory, let name):
            if status(directory, name) == nil { state.journal.append(.filled(place(directory, name))) }
            check(relative(directory, name), true)
        case .link(_, _, let directory, let name):
            if status(directory, name) == nil { state.journal.append(.filled(place(directory, name))) }
            check(relative(directory, name), true)
        case .rename(let fromDirectory, let fromName, let toDirectory, let toName, let kind):
            let (from, to) = (place(fromDirectory, fromName), place(toDirectory, toName))
            let isTaken = status(toDirectory, toName) != nil
            guard status(fromDirectory, fromName) != nil, kind != .keeping || !isTaken, kind != .swapping || isTaken
            else { break }
            let victim = kind == .replacing && isTaken ? keep(to, &state) : nil
            state.journal.append(.moved(from, to, victim: victim, isSwap: kind == .swapping))
            check(relative(fromDirectory, fromName), kind == .swapping)
            check(relative(toDirectory, toName), true)
        case .unlink(let directory, let name):
            let place = place(directory, name)
            if let copy = keep(place, &state) { state.journal.append(.removed(place, copy: copy)) }
            check(relative(directory, name), false)
        case .removeDirectory(let directory, let name):
            if let status = status(directory, name) {
                state.journal.append(.removedDirectory(place(directory, name), mode: status.st_mode & 0o777))
            }
            check(relative(directory, name), false)
        case .write(let file, _, _), .truncate(let file, _): state.dirty.insert(inode(file))
        case .setPermissions, .setAttributes, .setTimes, .setTimesByName: break
        case .synchronize(let file):
            let inode = inode(file)
            if state.forgetting != .contents { state.dirty.remove(inode) }
            if state.forgetting != .names {
                for index in state.journal.indices { state.journal[index].directories.remove(inode) }
                state.journal.removeAll { $0.directories.isEmpty }
            }
            return .pretend
        case .synchronizeFileSystem:
            if state.forgetting != .contents { state.dirty = [] }
            if state.forgetting != .names { state.journal = [] }
            return .pretend
        }
        return .proceed
    }

    // MARK: losing power

    /// A change of a name; lost unless all its directories are made durable after it.
    private struct NameChange {
        enum Kind {
            case filled
            case madeDirectory
            case moved(to: String, victim: String?, isSwap: Bool)
            case removed(copy: String)
            case removedDirectory(mode: mode_t)
        }

        var path: String
        var kind: Kind
        var directories: Set<UInt64>

        static func filled(_ place: Place) -> NameChange {
            NameChange(path: place.path, kind: .filled, directories: [place.directory])
        }

        static func madeDirectory(_ place: Place) -> NameChange {
            NameChange(path: place.path, kind: .madeDirectory, directories: [place.directory])
        }

        static func moved(_ from: Place, _ to: Place, victim: String?, isSwap: Bool) -> NameChange {
            NameChange(
                path: from.path, kind: .moved(to: to.path, victim: victim, isSwap: isSwap),
                directories: [from.directory, to.directory])
        }

        static func removed(_ place: Place, copy: String) -> NameChange {
            NameChange(path: place.path, kind: .removed(copy: copy), directories: [place.directory])
        }

        static func removedDirectory(_ place: Place, mode: mode_t) -> NameChange {
            NameChange(path: place.path, kind: .removedDirectory(mode: mode), directories: [place.directory])
        }

        /// Whether it is a change of the name at `path`, of one above it, or of one below it.
        func concerns(_ path: String) -> Bool {
            func isRelated(_ other: String) -> Bool {
                other == path || other.hasPrefix(path + "/") || path.hasPrefix(other + "/")
            }
            if case .moved(let target, _, _) = kind, isRelated(target) { return true }
            return isRelated(self.path)
        }

        /// Takes the change back, unless what came after it does not let it.
        func undo() -> Bool {
            switch kind {
            case .filled: return unlink(path) == 0
            case .madeDirectory: return rmdir(path) == 0
            case .moved(let target, let victim, let isSwap):
                if isSwap { return move(target, path, CLINUX_RENAME_EXCHANGE) }
                guard move(target, path, CLINUX_RENAME_NOREPLACE) else { return false }
                if let victim { _ = move(victim, target, CLINUX_RENAME_NOREPLACE) }
                return true
            case .removed(let copy): return move(copy, path, CLINUX_RENAME_NOREPLACE)
            case .removedDirectory(let mode): return mkdir(path, mode) == 0
            }
        }

        private func move(_ from: String, _ to: String, _ flags: UInt32) -> Bool {
            clinux_renameat2(AT_FDCWD, from, AT_FDCWD, to, flags) == 0
        }
    }

    /// Takes back a random number of the last changes of names, and damages contents that are not durable.
    private func losePower(_ state: inout State) -> [String] {
        var lost: [String] = []
        let kept = state.journal.isEmpty ? 0 : state.generator.int(0...state.journal.count)
        for change in state.journal[kept...].reversed() where change.undo() {
            lost.append("the change of \(relative(change.path))")
        }
        for (path, inode) in files(in: root) where state.dirty.contains(inode) {
            var status = stat()
            guard lstat(path, &status) == 0, status.st_size > 0 else { continue }
            let size = Int(status.st_size)
            let file = open(path, O_WRONLY | O_NOFOLLOW)
            guard file >= 0 else { continue }
            defer { close(file) }
            switch state.generator.int(0...2) {
            case 0:
                _ = ftruncate(file, 0)
                lost.append("the contents of \(relative(path))")
            case 1:
                let rest = state.generator.int(0...size - 1)
                _ = ftruncate(file, off_t(rest))
                // Its size was written, its last blocks were not.
                _ = ftruncate(file, off_t(size))
                lost.append("the contents of \(relative(path)) from \(rest) on")
            default: continue
            }
            var times = [status.st_atim, status.st_mtim]
            _ = futimens(file, &times)
        }
        return lost
    }

    private func files(in directory: String) -> [(path: String, inode: UInt64)] {
        var found: [(path: String, inode: UInt64)] = []
        guard let stream = opendir(directory) else { return [] }
        var names: [String] = []
        while let record = readdir(stream) {
            let name = withUnsafePointer(to: &record.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        closedir(stream)
        for name in names.sorted() {
            let path = "\(directory)/\(name)"
            var status = stat()
            guard lstat(path, &status) == 0 else { continue }
            switch status.st_mode & S_IFMT {
            case S_IFDIR: found += files(in: path)
            case S_IFREG: found.append((path, UInt64(status.st_ino)))
            default: break
            }
        }
        return found
    }

    // MARK: where a call is

    private struct Place {
        var path: String
        var directory: UInt64
    }

    private func place(_ directory: CInt, _ name: String) -> Place {
        Place(path: "\(path(of: directory))/\(name)", directory: inode(directory))
    }

    private func relative(_ directory: CInt, _ name: String) -> String { relative("\(path(of: directory))/\(name)") }

    /// `path` without what is other in each run: the numbers in the name of a swap.
    private func relative(_ path: String) -> String {
        let (path, name) = (plain(path), String(path.split(separator: "/").last ?? ""))
        guard let swap = RelativePath(name), swap.isSwap else { return path }
        return path.dropLast(name.count) + ".syncthing.\(swap.swapTarget?.name ?? "long").swap"
    }

    private func plain(_ path: String) -> String {
        path.hasPrefix(root + "/") ? String(path.dropFirst(root.utf8.count + 1)) : path == root ? "." : path
    }

    /// The kernel knows by which path a descriptor can be reached now.
    private func path(of descriptor: CInt) -> String {
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/fd/\(descriptor)", &target, target.count)
        guard count > 0 else { return "?" }
        return String(decoding: target.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private func inode(_ descriptor: CInt) -> UInt64 {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? UInt64(status.st_ino) : 0
    }

    private func status(_ directory: CInt, _ name: String) -> stat? {
        var status = stat()
        return fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status : nil
    }

    /// Gives what is about to be removed a second name, so that it can be brought back.
    private func keep(_ place: Place, _ state: inout State) -> String? {
        guard state.mayLosePower else { return nil }
        state.trashCount += 1
        let copy = "\(trash)/\(state.trashCount)"
        return linkat(AT_FDCWD, place.path, AT_FDCWD, copy, 0) == 0 ? copy : nil
    }

    private func words(for change: DiskChange) -> String {
        switch change {
        case .create(let directory, let name): "create \(relative(directory, name))"
        case .makeDirectory(let directory, let name): "mkdir \(relative(directory, name))"
        case .makeSymlink(let directory, let name): "symlink \(relative(directory, name))"
        case .link(let directory, let name, let toDirectory, let toName):
            "link \(relative(directory, name)) \(relative(toDirectory, toName))"
        case .rename(let directory, let name, let toDirectory, let toName, let kind):
            "rename \(relative(directory, name)) \(relative(toDirectory, toName)) \(kind)"
        case .unlink(let directory, let name): "unlink \(relative(directory, name))"
        case .removeDirectory(let directory, let name): "rmdir \(relative(directory, name))"
        case .write(let file, let offset, let count): "write \(relative(path(of: file))) \(offset) \(count)"
        case .truncate(let file, let size): "truncate \(relative(path(of: file))) \(size)"
        case .setPermissions(let file): "chmod \(relative(path(of: file)))"
        case .setTimes(let file): "utimens \(relative(path(of: file)))"
        case .setAttributes(let file): "setxattr \(relative(path(of: file)))"
        case .setTimesByName(let directory, let name): "utimens \(relative(directory, name))"
        case .synchronize(let file): "fsync \(relative(path(of: file)))"
        case .synchronizeFileSystem: "syncfs"
        }
    }
}
