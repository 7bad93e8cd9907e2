import Cryptography
import Glibc

/// The name under which something waits to take the place of another, right before the two swap names.
///
/// It says what each of the two is, so that whoever finds the name after a crash can tell which of them bears it, and
/// whether that may go (`RootDirectory.settleSwap`).
struct SwapName: Equatable {
    /// What the other is called, or its SHA-256 if that is too long to be in here.
    let key: String
    /// The inode of what is to take the place; 0 if nothing is, and the other is to be removed.
    let source: UInt64
    /// What was seen in the place; see `fingerprint`.
    let expected: UInt64

    private static let suffix = ".swap"

    init(target: String, source: UInt64, expected: FileStatus) {
        key = RelativePath.temporaryKey(for: target)
        self.source = source
        self.expected = Self.fingerprint(expected)
    }

    /// - parameter fingerprint: of what was seen in the place.
    init(target: String, source: UInt64, fingerprint: UInt64) {
        key = RelativePath.temporaryKey(for: target)
        self.source = source
        expected = fingerprint
    }

    init?(_ name: String) {
        var rest = Substring(name)
        guard rest.hasPrefix(RelativePath.temporaryPrefix), rest.hasSuffix(Self.suffix) else { return nil }
        rest = rest.dropFirst(RelativePath.temporaryPrefix.count).dropLast(Self.suffix.count)
        guard let expected = Self.takeNumber(from: &rest), let source = Self.takeNumber(from: &rest), !rest.isEmpty
        else { return nil }
        key = String(rest)
        self.source = source
        self.expected = expected
    }

    var text: String {
        "\(RelativePath.temporaryPrefix)\(key).\(Self.hexadecimal(source)).\(Self.hexadecimal(expected))\(Self.suffix)"
    }

    /// Whether the two swapped names, or were about to, and what is there is the one whose place was to be taken.
    func isExpected(_ status: FileStatus) -> Bool {
        // What was written down without an inode is recognised without one.
        expected == Self.fingerprint(status) || expected == Self.fingerprint(status, inode: 0)
    }

    /// A number for all that `FileStatus.isUnchanged` compares and a change of name leaves alone.
    static func fingerprint(_ status: FileStatus, inode: UInt64? = nil) -> UInt64 {
        // The time of a symbolic link's change is what its name's change moves on.
        let time = status.type == .symlink ? FileTime(seconds: 0) : status.modified
        let words =
            "\(status.type.rawValue) \(status.size) \(time.seconds) \(time.nanoseconds) \(inode ?? status.inode)"
        return SHA256.digest(Array(words.utf8)).words.0
    }

    private static func hexadecimal(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    private static func takeNumber(from rest: inout Substring) -> UInt64? {
        let digits = rest.suffix(16)
        guard digits.utf8.count == 16, digits.utf8.allSatisfy({ UInt8(ascii: "0") <= $0 }),
            let number = UInt64(digits, radix: 16), rest.dropLast(16).last == "."
        else { return nil }
        rest = rest.dropLast(17)
        return number
    }
}

extension RelativePath {
    /// Whether this is the name of something that was about to swap names with another; unlike other temporary files, it
    /// may be all that is left of what somebody wrote. See `RootDirectory.settleSwap`.
    package var isSwap: Bool { SwapName(name) != nil }

    /// What this was to swap names with; nil for anything else, and where that name was too long to be in this one.
    package var swapTarget: RelativePath? {
        guard let key = SwapName(name)?.key, !Self.isHashKey(key) else { return nil }
        return try? replacingName(with: key)
    }

    /// Whether `name`, in the same directory, is what this was to swap names with.
    package func isSwap(with name: String) -> Bool { SwapName(self.name)?.key == Self.temporaryKey(for: name) }
}

extension Directory {
    /// Lets `source` in `origin` take the place of `target` in here, if what is there is `expected`.
    ///
    /// The two swap names, so that what was there can be looked at once nobody can change it by its name any more, and
    /// swapped back if it was not what was expected. At no moment is the target without its file. Where the file system
    /// cannot swap, a change in the instant between the look and the move goes unseen.
    func replace(
        _ target: String, by source: String, in origin: Directory, expecting expected: FileStatus
    ) throws(FileAccessError) {
        try check(target, isStill: expected)
        try exchange(target, with: source, in: origin, expecting: expected)
    }

    /// The same without looking first.
    func exchange(
        _ target: String, with source: String, in origin: Directory, expecting expected: FileStatus
    ) throws(FileAccessError) {
        guard let mover = try origin.status(ofName: source) else {
            throw FileAccessError(.notFound, .rename, path: origin.displayPath(of: source))
        }
        let swap = SwapName(target: target, source: mover.inode, expected: expected).text
        try origin.move(source, to: swap, in: self, replacing: .nothing)
        do throws(FileAccessError) {
            try swapNames(swap, with: target, expecting: expected)
        } catch {
            if let now = try? status(ofName: swap), now.isSameFile(as: mover) {
                try? move(swap, to: source, in: origin, replacing: .nothing)
            }
            throw error
        }
    }

    private func swapNames(
        _ swap: String, with target: String, expecting expected: FileStatus
    ) throws(FileAccessError) {
        let path = displayPath(of: target)
        switch exchange(swap, with: target) {
        case .success: break
        case .failure(let error) where error.number == EINVAL || error.number == ENOSYS:
            try check(target, isStill: expected)
            return try renameTo(target, in: self, from: swap, flags: 0).orThrow(.rename, path: path)
        case .failure(let error) where error.number == ENOENT:
            throw FileAccessError(.changedOnDisk, .rename, path: path, errno: error.number)
        case .failure(let error): throw FileAccessError(error, .rename, path: path)
        }
        if let displaced = try status(ofName: swap), let obstacle = obstacle(swap, displaced, expecting: expected) {
            try exchange(swap, with: target).orThrow(.rename, path: path)
            throw FileAccessError(obstacle, .rename, path: path)
        }
        // The place is taken. What cannot be removed is found by a scan, which knows by its name that it may go.
        _ = unlink(swap)
    }

    /// Why what has lost its place, and is called `swap` now, must have it back: it is not what was `expected`, or a program has
    /// opened it for writing in the last instant, and what it writes would be lost. Nil if it may go.
    private func obstacle(
        _ swap: String, _ displaced: FileStatus, expecting expected: FileStatus
    ) -> FileAccessError.Code? {
        guard displaced.isUnchanged(since: expected.beforeRenaming) else { return .changedOnDisk }
        return displaced.type == .regular && isBeingWritten(swap) ? .busy : nil
    }

    /// Removes `name` if it is `expected`. It is looked at under a name by which nobody can change it. If it throws, what was there still
    /// is, if the disk can have it back: an error may also leave it under that other name, for the next scan.
    func remove(_ name: String, expecting expected: FileStatus) throws(FileAccessError) {
        let path = displayPath(of: name)
        let swap = SwapName(target: name, source: 0, expected: expected).text
        try move(name, to: swap, in: self, replacing: .nothing)
        guard let moved = try status(ofName: swap) else { return }
        if let obstacle = obstacle(swap, moved, expecting: expected) {
            // If the name was taken meanwhile, what was there is kept where it is and settled by the next look.
            try? move(swap, to: name, in: self, replacing: .nothing)
            throw FileAccessError(obstacle, .remove, path: path)
        }
        let removed = unlink(swap)
        // What could not be removed is where it was, unless the name was taken meanwhile.
        if case .failure = removed { try? move(swap, to: name, in: self, replacing: .nothing) }
        try removed.orThrow(.remove, path: path)
    }
}

extension RootDirectory {
    /// What became of something that was found under the name of a swap.
    package enum SettledSwap: Sendable {
        /// It is gone, or is a temporary file that a fetch can go on with.
        case settled
        /// Somebody is at it.
        case busy
        /// It is what somebody put into the place at the last instant, and has no other name: it is still there.
        case displaced
    }

    /// Finishes or undoes what a crash cut short: `path` was about to swap names with another, or had.
    package func settleSwap(_ path: RelativePath) throws(FileAccessError) -> SettledSwap {
        guard let swap = SwapName(path.name), let directory = try parentDirectory(of: path),
            let now = try directory.status(ofName: path.name)
        else { return .settled }
        let lock = now.type == .regular ? directory.lock(path.name) : .notThere
        if case .taken = lock { return .busy }
        if swap.isExpected(now) {
            try directory.unlink(path.name).orThrow(.remove, path: path.text)
            return .settled
        }
        guard swap.source != 0, now.inode == swap.source else { return .displaced }
        if now.type == .regular {
            let temporary = RelativePath.temporaryName(forKey: swap.key)
            do throws(FileAccessError) {
                try directory.move(path.name, to: temporary, in: directory, replacing: .nothing)
                return .settled
            } catch {
                guard error.code == .exists else { throw error }
            }
        }
        try directory.unlink(path.name).orThrow(.remove, path: path.text)
        return .settled
    }
}
