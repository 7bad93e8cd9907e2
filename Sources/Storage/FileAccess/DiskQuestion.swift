import Glibc

/// Asks one disk what it is like, in one of its directories.
///
/// A file is made there for an instant, under a temporary name that no device syncs, unless the kernel's word is enough.
struct DiskQuestion {
    let directory: Descriptor
    /// For errors.
    let path: String
    let kind: DirectoryKind
    /// Keeps two questions of one root apart.
    let number: Int

    /// - Parameter marker: the name, in small letters, of something there; nil if nothing is known to be.
    /// - Throws: `FileAccessError` if the disk does not answer: a guess could have two files written to one; `notFound` if nothing
    ///   has the marker's name; `changesNames` if it lists a name otherwise than it was written.
    func ask(marker: String?) throws(FileAccessError) -> DiskTraits {
        var traits = DiskTraits()
        // Unicode's case folding over its decomposition: what `chattr +F` means.
        if kind.foldsCase { return DiskTraits(foldsCase: true, normalizesNames: true) }
        if let marker { traits.foldsCase = try foldsCase(marker) }
        if kind.isOrdinary, !traits.foldsCase { return traits }
        traits.manglesDeviceNames = kind.isShare
        // Linux sets times by another handle than the one that the file was written by, and Samba does not count that for the latter.
        traits.touchesOnClose = kind.isShare
        switch try makeFile() {
        case .made(let file, let name):
            defer { remove(name) }
            try ask(by: file, name, &traits)
        case .refused:
            traits.foldsCase = marker == nil || traits.foldsCase
            traits.normalizesNames = true
            traits.dropsTrailingDots = true
            traits.keepsPermissions = if let marker { try keepsPermissions(of: marker) } else { false }
            traits.hasCoarseTimes = true
            traits.isGuess = true
        }
        return traits
    }

    /// Whether what is under `marker` is also found in capitals, and is not two things.
    private func foldsCase(_ marker: String) throws(FileAccessError) -> Bool {
        let here = Directory(directory, rootPath: path)
        switch try here.spelling(of: marker) {
        case nil: throw FileAccessError(.notFound, .inspect, path: marker)
        case .other: return true
        case .exact: if case .other = try here.spelling(of: marker.uppercased()) { return true } else { return false }
        }
    }

    private func ask(by file: Descriptor, _ name: String, _ traits: inout DiskTraits) throws(FileAccessError) {
        let here = Directory(directory, rootPath: path)
        guard try here.list().contains(where: { $0.nameBytes.elementsEqual(name.utf8) }) else {
            throw FileAccessError(.changesNames, .inspect, path: path)
        }
        if try here.status(ofName: name.replacing("probe", with: "PROBE")) != nil { traits.foldsCase = true }
        traits.normalizesNames = try here.status(ofName: name.replacing(Self.composed, with: Self.decomposed)) != nil
        for tail in [".", " "] where try here.status(ofName: name + tail) != nil { traits.dropsTrailingDots = true }
        let before = try file.rawStatus().orThrow(.inspect, path: path)
        let mode = before.st_mode & 0o7777 ^ 0o020
        // Refused where nothing can be set.
        _ = file.changing(.setPermissions(file: file.number)) { fchmod(file.number, mode) }
        let time = FileTime(seconds: 1_000_000_001, nanoseconds: 987_654_321)
        let times = time.toSet(beside: before)
        _ = file.changing(.setTimes(file: file.number)) { futimens(file.number, times) }
        let after = try file.rawStatus().orThrow(.inspect, path: path)
        traits.keepsPermissions = after.st_mode & 0o7777 == mode
        traits.hasCoarseTimes = FileTime(after.st_mtim) != time
    }

    // MARK: the file

    private enum Made {
        case made(Descriptor, String)
        /// Nothing can be made here now.
        case refused
    }

    private static let composed = "\u{e9}"
    private static let decomposed = "e\u{301}"

    private func makeFile() throws(FileAccessError) -> Made {
        // Not every disk has the letter.
        for letter in [Self.composed, "e"] {
            let name = "\(RelativePath.temporaryPrefix)probe-\(letter)-\(number).tmp"
            let opened = Descriptor.openHeld(
                name, in: directory, flags: O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, permissions: 0o600)
            switch opened {
            case .success(let file): return .made(file, name)
            case .failure(let error):
                switch error.number {
                case EINVAL, EILSEQ: continue
                case EROFS, EACCES, EPERM, ENOSPC, EDQUOT: return .refused
                default: throw FileAccessError(error, .create, path: path)
                }
            }
        }
        return .refused
    }

    private func remove(_ name: String) { _ = Directory(directory, rootPath: path).unlink(name) }

    private func keepsPermissions(of marker: String) throws(FileAccessError) -> Bool {
        let file = try Descriptor.openHeld(marker, in: directory, flags: O_RDONLY | O_NOFOLLOW)
            .orThrow(.open, path: marker)
        let mode = try file.rawStatus().orThrow(.inspect, path: marker).st_mode & 0o7777
        let others = mode ^ 0o020
        _ = file.changing(.setPermissions(file: file.number)) { fchmod(file.number, others) }
        guard try file.rawStatus().orThrow(.inspect, path: marker).st_mode & 0o7777 == others else { return false }
        _ = try file.changing(.setPermissions(file: file.number)) { fchmod(file.number, mode) }
            .orThrow(.setPermissions, path: marker)
        return true
    }
}
