import CLinux
import Glibc
import Synchronization

/// A file that is being put together under a temporary name beside its target, readable by its owner only.
///
/// Made by `RootDirectory.stage(_:resuming:)`. Until `commit` or `discard` succeeds, the temporary file stays on disk,
/// so that a later stage of the same target resumes it. One at a time: while this value lives, staging the same target
/// again, also in another process, throws `busy`. Reads and writes may come from several tasks; all must have returned
/// before `commit` is called.
package final class StagedFile: Sendable {
    /// The target's place beneath its root.
    package let target: RelativePath
    /// How many bytes were there already when this was opened; 0 if it was new.
    package let resumedByteCount: Int64
    let directory: Directory
    let file: OpenFile
    let temporaryName: String
    private let targetName: String
    /// The staged file as it was opened; only its identity is of use later.
    let opened: FileStatus
    private let claim: Claim?

    /// Keeps others from writing to the same temporary file on a disk that folds case.
    private final class Claim: Sendable {
        let claims: FoldedClaims
        let path: String

        init?(_ path: String, in claims: FoldedClaims) {
            guard claims.take(path) else { return nil }
            (self.claims, self.path) = (claims, path)
        }

        deinit { claims.giveBack(path) }
    }

    private enum State {
        case staged
        case committing
        case finished
    }
    private let state = Mutex(State.staged)
    private let applied = Mutex<(access: AttributeAccess, attributes: DiskAttributes)?>(nil)
    /// As it was right after it came into its place.
    private let placed = Mutex<FileStatus?>(nil)
    /// Room on the disk for what is still to be written.
    private let reservation = Mutex<SpaceReservation?>(nil)

    init(
        target: RelativePath, in directory: Directory, resuming: Bool, temporaryKey: String? = nil
    ) throws(FileAccessError) {
        self.target = target
        self.directory = directory
        targetName = target.name
        temporaryName =
            temporaryKey.map(RelativePath.temporaryName(forKey:)) ?? RelativePath.temporaryName(for: targetName)
        let path = directory.displayPath(of: temporaryName)
        claim = directory.claims.flatMap { Claim(path, in: $0) }
        guard directory.claims == nil || claim != nil else { throw FileAccessError(.busy, .create, path: path) }
        let descriptor = try Self.openTemporary(temporaryName, in: directory)
        file = OpenFile(descriptor, path: path)
        opened = try file.status()
        if opened.permissions != 0o600 { Self.hide(descriptor) }
        if resuming {
            resumedByteCount = opened.size
        } else {
            do throws(FileAccessError) {
                try file.truncate(to: 0)
            } catch {
                // Nobody goes on with these bytes.
                _ = directory.unlink(temporaryName)
                throw error
            }
            resumedByteCount = 0
        }
    }

    // Closing alone would leave the lock to a child that is being started.
    deinit { _ = clinux_unlock(file.descriptor.number) }

    // MARK: contents

    /// Reads from `offset` until `buffer` is full or the file ends; gives the count of bytes read.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(FileAccessError) -> Int {
        try file.read(into: buffer, at: offset)
    }

    /// Up to `count` bytes from `offset` on; fewer only where the file ends.
    package func read(count: Int, at offset: Int64) throws(FileAccessError) -> [UInt8] {
        try file.read(count: count, at: offset)
    }

    /// Writes all of `bytes` from `offset` on. A page or more of zeros becomes a hole and takes no space.
    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(FileAccessError) {
        try checkStaged(.write)
        if bytes.count >= 4096, isAllZero(bytes) {
            try file.writeHole(at: offset, count: bytes.count)
        } else {
            try file.write(bytes, at: offset)
        }
        reservation.withLock { $0 }?.wrote(bytes.count)
    }

    /// Writes all of `bytes` from `offset` on.
    package func write(_ bytes: [UInt8], at offset: Int64) throws(FileAccessError) {
        let result = bytes.withUnsafeBytes { buffer in
            Result { () throws(FileAccessError) in try write(buffer, at: offset) }
        }
        try result.get()
    }

    /// Makes `count` bytes from `offset` on zeros that take no space.
    package func writeHole(at offset: Int64, count: Int) throws(FileAccessError) {
        try checkStaged(.write)
        try file.writeHole(at: offset, count: count)
    }

    /// Cuts the staged file off at `size` bytes, or extends it to there with a hole.
    package func truncate(to size: Int64) throws(FileAccessError) {
        try checkStaged(.truncate)
        try file.truncate(to: size)
    }

    /// Makes what was written so far survive a loss of power, so that it can be resumed.
    package func synchronize() throws(FileAccessError) { try file.synchronize() }

    package func status() throws(FileAccessError) -> FileStatus { try file.status() }

    /// In place of the one before, which gives back what is left of it.
    func setReservation(_ new: SpaceReservation?) {
        // Kept until the lock is open again.
        let old = reservation.withLock { reservation in
            let old = reservation
            reservation = new
            return old
        }
        withExtendedLifetime(old) {}
    }

    // MARK: the end

    /// Moves the file into its place; gives its status there, for the index.
    ///
    /// In order: permissions, time, contents made durable, the move, the directory made durable. If any step before
    /// the move fails, the target is as it was and the staged file is kept. If making the directory durable fails, the
    /// file is in place and `synchronize` is the failed operation.
    ///
    /// - Parameters:
    ///   - name: What the file is to be called instead of its target, in the same directory; nil for the target.
    ///   - replacement: What must be at the target; a directory is never replaced.
    ///   - permissions: The low nine bits of the mode; nil for those of the file that is replaced, else 0644. A file
    ///     system without permissions keeps its own.
    ///   - modified: The time of modification; nil for that of the last write.
    ///   - attributes: What cannot be set is left out; `appliedAttributes` says what the file got.
    ///   - durability: `.deferred` leaves out both steps of making durable; use `RootDirectory.commit(_:)` for groups,
    ///     which does them in the right order.
    package func commit(
        as name: RelativePath? = nil, replacing replacement: Replacement, permissions: UInt32?, modified: FileTime?,
        attributes: AttributeChange? = nil, durability: Durability = .immediate
    ) throws(FileAccessError) -> FileStatus {
        guard name == nil || name?.parent == target.parent else {
            throw FileAccessError(.invalidPath, .rename, path: target.text)
        }
        try beginCommit()
        do throws(FileAccessError) {
            try seal(permissions: permissions, modified: modified, attributes: attributes)
            if durability == .immediate { try file.synchronize() }
            try moveIntoPlace(replacement, as: name?.name)
        } catch {
            cancelCommit()
            throw error
        }
        finishCommit()
        if durability == .immediate { try directory.synchronize() }
        return try statusInPlace()
    }

    /// Whether the file was moved into its place. What fails after that leaves it there.
    package var isInPlace: Bool { state.withLock { if case .finished = $0 { true } else { false } } }

    /// Gives the staged bytes up and removes the temporary file; does nothing once committed or discarded.
    package func discard() throws(FileAccessError) {
        let wasStaged = state.withLock { state in
            guard case .staged = state else { return false }
            state = .finished
            return true
        }
        setReservation(nil)
        guard wasStaged, let now = try directory.status(ofName: temporaryName), now.isSameFile(as: opened) else {
            return
        }
        try directory.unlink(temporaryName).orThrow(.remove, path: file.path)
    }

    // MARK: the steps of a commit, for one file and for groups

    func beginCommit() throws(FileAccessError) {
        try state.withLock { state throws(FileAccessError) in
            guard case .staged = state else { throw FileAccessError(.finished, .rename, path: target.text) }
            state = .committing
        }
    }

    /// What the file got of the attributes that it was sealed with; nil if it was not, or if they cannot be read.
    package var appliedAttributes: DiskAttributes? { applied.withLock { $0?.attributes } }

    /// What the disk said of the file when it came into its place, for the index: what a user does to it from then on shows.
    ///
    /// A change of attributes between the move and that moment shows in nothing but the attributes. If they are others by now, the
    /// status has no time of change, so that who looks next reads them.
    func statusInPlace() throws(FileAccessError) -> FileStatus {
        guard let status = placed.withLock({ $0 }) else { return try file.status() }
        guard let applied = applied.withLock({ $0 }) else { return status }
        return status.having(file.descriptor.attributes(applied.access), expecting: applied.attributes)
    }

    /// Called as soon as the file is in its place.
    func notePlace() {
        let status = try? file.status()
        placed.withLock { $0 = status }
    }

    func seal(
        permissions: UInt32?, modified: FileTime?, attributes: AttributeChange? = nil
    ) throws(FileAccessError) {
        let wanted =
            if let permissions { permissions } else {
                try directory.status(ofName: targetName).flatMap { $0.type == .regular ? $0.permissions : nil } ?? 0o644
            }
        let change = try attributes.map { change throws(FileAccessError) in try keeping(change) }
        if let change { file.descriptor.set(change, .beforePermissions) }
        do throws(FileAccessError) {
            try file.setPermissions(wanted)
        } catch {
            // FAT and its like refuse every mode that their mount options do not give.
            guard error.errno == EPERM || error.errno == EOPNOTSUPP else { throw error }
        }
        if let change { file.descriptor.set(change, .afterPermissions) }
        if let modified {
            if directory.traits.touchesOnClose { try endWriting() }
            try file.setModificationTime(modified)
        }
        guard let change else { return }
        // Last: who gives a file away may not change it any more.
        file.descriptor.set(change, .last)
        let now = file.descriptor.attributes(change.access)
        applied.withLock { $0 = (change.access, now) }
    }

    /// The same with what nothing is said of as the file has it that is replaced.
    private func keeping(_ change: AttributeChange) throws(FileAccessError) -> AttributeChange {
        let needsExtended = change.wanted.extended == nil && change.access.permits != nil
        let needsOwner = change.wanted.owner == nil && change.access.usesOwner
        guard needsExtended || needsOwner, let old = try directory.attributes(ofName: targetName, change.access) else {
            return change
        }
        var kept = change
        if needsExtended { kept.wanted.extended = old.extended }
        if needsOwner { kept.wanted.owner = old.owner }
        return kept
    }

    /// Has the disk see that the file is closed for writing, and goes on with it opened for reading.
    private func endWriting() throws(FileAccessError) {
        try file.synchronize()
        try reopen(O_RDONLY)
    }

    /// Opens the temporary file again, with the same descriptor number and lock.
    private func reopen(_ mode: CInt) throws(FileAccessError) {
        let path = file.path
        let other = try Descriptor.openHeld(
            temporaryName, in: directory.descriptor, flags: mode | O_NOFOLLOW | O_NONBLOCK
        ).orThrow(.open, path: path)
        guard try other.status().orThrow(.inspect, path: path).isSameFile(as: opened) else {
            throw FileAccessError(.notFound, .open, path: path)
        }
        _ = clinux_unlock(file.descriptor.number)
        _ = try system { dup2(other.number, file.descriptor.number) }.orThrow(.open, path: path)
        // The programs that the agent starts close all that they do not need, also what is open for them in this instant.
        _ = fcntl(file.descriptor.number, F_SETFD, FD_CLOEXEC)
        if case .failure(let error) = system({ clinux_lock_exclusive(file.descriptor.number) }),
            error.number == EWOULDBLOCK
        {
            throw FileAccessError(error, .lock, path: path)
        }
    }

    func moveIntoPlace(_ replacement: Replacement, as name: String? = nil) throws(FileAccessError) {
        // The name may have been taken by a stranger since; then it is not ours to move.
        guard let now = try directory.status(ofName: temporaryName), now.isSameFile(as: opened) else {
            throw FileAccessError(.notFound, .rename, path: file.path)
        }
        try directory.move(temporaryName, to: name ?? targetName, in: directory, replacing: replacement)
        notePlace()
    }

    func cancelCommit() {
        // Else a file that was sealed read-only could not be resumed.
        Self.hide(file.descriptor)
        // Where that fails, the next write does.
        if directory.traits.touchesOnClose { try? reopen(O_RDWR) }
        state.withLock { $0 = .staged }
    }

    func finishCommit() {
        state.withLock { $0 = .finished }
        setReservation(nil)
    }

    private func checkStaged(_ operation: FileAccessError.Operation) throws(FileAccessError) {
        let isStaged = state.withLock { state in
            if case .staged = state { true } else { false }
        }
        guard isStaged else { throw FileAccessError(.finished, operation, path: target.text) }
    }

    // MARK: opening

    /// Readable by the owner only; where the file system has no permissions there is nothing to hide behind.
    private static func hide(_ descriptor: Descriptor) {
        _ = descriptor.changing(.setPermissions(file: descriptor.number)) { fchmod(descriptor.number, 0o600) }
    }

    /// Opens or makes the temporary file, locked, and no link, pipe or second name of another file.
    private static func openTemporary(_ name: String, in directory: Directory) throws(FileAccessError) -> Descriptor {
        let path = directory.displayPath(of: name)
        func open() -> Result<Descriptor, SystemError> {
            let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK
            return Descriptor.openHeld(name, in: directory.descriptor, flags: flags, permissions: 0o600)
        }
        for _ in 0..<8 {
            var opened = open()
            if case .failure(let error) = opened, error.number == EACCES, directory.isMissing(name) {
                opened = directory.descriptor.whileWritable(open) ?? opened
                if case .failure(let error) = opened, error.number == EACCES {
                    throw FileAccessError(error, .createIn, path: directory.displayPath)
                }
            }
            switch opened {
            case .success(let descriptor):
                let status = try descriptor.status().orThrow(.inspect, path: path)
                // A second name would let us write into a file that someone else knows under another.
                guard status.type == .regular, status.linkCount == 1 else { break }
                if case .failure(let error) = system({ clinux_lock_exclusive(descriptor.number) }),
                    error.number == EWOULDBLOCK
                {
                    throw FileAccessError(error, .lock, path: path)
                }
                // Whoever had the lock before may have moved the file into place: then it is staged no more.
                if let now = try directory.status(ofName: name), now.isSameFile(as: status) { return descriptor }
                continue
            case .failure(let error) where error.number == EACCES:
                // Sealed read-only by a commit that a crash cut short: its bytes are still good.
                if makeAccessible(name, in: directory) { continue }
            case .failure(let error) where error.number == ELOOP || error.number == ENXIO: break
            case .failure(let error):
                let obstacle = directory.descriptor.obstacle(error, foldsNames: directory.foldsNames)
                throw FileAccessError(obstacle, .create, path: path)
            }
            let removed = directory.unlink(name)
            if case .failure(let error) = removed, error.number != ENOENT {
                throw FileAccessError(error, .remove, path: path)
            }
        }
        throw FileAccessError(.busy, .create, path: path)
    }

    private static func makeAccessible(_ name: String, in directory: Directory) -> Bool {
        guard
            case .success(let file) = Descriptor.openHeld(
                name, in: directory.descriptor, flags: CLINUX_O_PATH | O_NOFOLLOW),
            case .success(let status) = file.status(), status.type == .regular, status.permissions & 0o600 != 0o600,
            case .success = file.setPermissionsByPath(0o600)
        else { return false }
        return true
    }
}

extension RootDirectory {
    /// Removes a file that was being put together, if nobody is at it. False if somebody is, or nothing is there.
    package func removeTemporary(_ path: RelativePath) throws(FileAccessError) -> Bool {
        guard path.isTemporary, !path.isSwap, let directory = try parentDirectory(of: path) else { return false }
        guard case .held(let file) = directory.lock(path.name), case .success(let held) = file.status(),
            let now = try directory.status(ofName: path.name), now.isSameFile(as: held)
        else { return false }
        try directory.unlink(path.name).orThrow(.remove, path: path.text)
        return true
    }
}

extension Directory {
    /// Whether `name` is not there, or this user may not even look for it.
    fileprivate func isMissing(_ name: String) -> Bool {
        do throws(FileAccessError) {
            return try status(ofName: name) == nil
        } catch {
            return error.errno == EACCES
        }
    }

    /// Whether somebody puts a file together.
    enum Lock {
        case held(Descriptor)
        case taken
        /// It is gone, or cannot be opened.
        case notThere
    }

    /// Locks a file that is being put together, unless somebody is at it.
    func lock(_ name: String) -> Lock {
        let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK
        guard case .success(let file) = Descriptor.openHeld(name, in: descriptor, flags: flags) else {
            return .notThere
        }
        guard case .success = system({ clinux_lock_exclusive(file.number) }) else { return .taken }
        return .held(file)
    }
}
