import Glibc
import Synchronization

/// Disks that do not distinguish `A` and `a`: exFAT, FAT, NTFS and shares of Windows machines, as most mount them. To such a disk, asking
/// for one name gives what another name holds; what is here tells the two apart.
extension Directory {
    /// How a name under which something is found is written in its directory.
    package enum Spelling: Equatable, Sendable {
        case exact
        /// Otherwise; nil if the directory lists nothing like it, as with a short name of FAT.
        case other(String?)
    }

    /// How `name` is written in here; nil if nothing is found under it. Reads the whole directory where that is in doubt.
    ///
    /// - Throws: `FileAccessError` if the directory cannot be read.
    package func spelling(of name: String) throws(FileAccessError) -> Spelling? {
        guard try status(ofName: name) != nil else { return nil }
        let variant = Self.caseVariant(of: name)
        let isOtherInCase = try variant.map { name throws(FileAccessError) in try status(ofName: name) != nil } ?? false
        let isInDoubt = isOtherInCase || traits.normalizesNames && name.utf8.contains { $0 >= 0x80 }
        guard isInDoubt else { return .exact }
        var isExact = false
        var other: String?
        try forEachEntry { entry in
            isExact = entry.nameBytes.elementsEqual(name.utf8)
            if other == nil, let listed = entry.name, traits.areOne(listed, name) { other = listed }
            return !isExact
        }
        return isExact ? .exact : .other(other)
    }

    /// Gives the file, link or directory `name` the name `target`, which this disk takes for the same one.
    ///
    /// Linux's own drivers for such disks, and ext4 with `+F`, answer that this succeeded and leave the name as it was. There it goes by
    /// a third name, an ordinary one: after a crash in between, a scan finds it as renamed by the user, and nothing is hidden or lost.
    ///
    /// - Throws: `FileAccessError`; `exists` if the third name is taken. What is here is then called `name` as before, unless the disk
    ///   refuses that as well.
    func respell(_ name: String, as target: String) throws(FileAccessError) {
        try renameTo(target, in: self, from: name, flags: 0).orThrow(.rename, path: displayPath(of: target))
        guard try spelling(of: target) != .exact else { return }
        let between = Self.nameBetween(target)
        try move(name, to: between, in: self, replacing: .nothing)
        do throws(FileAccessError) {
            try move(between, to: target, in: self, replacing: .nothing)
        } catch {
            try? move(between, to: name, in: self, replacing: .nothing)
            throw error
        }
    }

    /// What something is called for the instant in which `respell` changes its letters; at most 255 bytes.
    static func nameBetween(_ target: String) -> String {
        var kept = target
        while kept.utf8.count > 240 { kept.removeLast() }
        return "\(kept) (renaming)"
    }

    /// The name with one letter in its other case: an ASCII letter if there is one, which every disk that folds case folds. Nil for a
    /// name without letters, which there is in one case only.
    static func caseVariant(of name: String) -> String? {
        var bytes = Array(name.utf8)
        if let letter = bytes.firstIndex(where: \.isASCIILetter) {
            bytes[letter] ^= 0x20
            return String(decoding: bytes, as: UTF8.self)
        }
        let (lower, upper) = (name.lowercased(), name.uppercased())
        return lower.utf8.elementsEqual(name.utf8) ? (upper.utf8.elementsEqual(name.utf8) ? nil : upper) : lower
    }
}

extension Descriptor {
    /// What kept a name from being made in this directory. `mount.exfat-fuse` says of a name that its disk cannot have that nothing is
    /// there (ENOENT), as others do where the directory has been removed: while that is there, the name was refused (EINVAL).
    ///
    /// - Parameter foldsNames: Whether the disk does; no other is known to say so.
    func obstacle(_ error: SystemError, foldsNames: Bool) -> SystemError {
        guard error.number == ENOENT, foldsNames, case .success(let status) = rawStatus(), status.st_nlink > 0 else {
            return error
        }
        return SystemError(number: EINVAL)
    }
}

extension RootDirectory {
    /// Asks the disk at the root what it is like, by a file or directory there. Once: later calls do nothing, unless the disk could
    /// only be guessed at. Until then the disk counts as an ordinary one; after that, others below the root are asked when they are
    /// met. Not to be called by two tasks at once.
    ///
    /// - Parameter marker: the name, in small letters, of something at the root.
    /// - Throws: as `DiskQuestion.ask`.
    package func learnDisk(marker: String) throws(FileAccessError) {
        try disks.learnRoot(descriptor, rootPath: path, marker: marker)
    }

    /// What is known of the disk at the root.
    package var traits: DiskTraits { disks.root ?? DiskTraits() }

    /// What is known of the disk that `path` is on, or would be; of one that nothing was opened on, that of the directory above.
    package func traits(at path: String) -> DiskTraits { disks.traits(at: path) }

    /// The directories below the root, known so far, whose disks are other than those of the directories above.
    package var otherDisks: [String: DiskTraits] { disks.places }

    /// What the disk is like that `path` is on or would be, if that or one above it takes several names for one or changes names; nil
    /// for ordinary disks.
    package func nearestTraits(of path: RelativePath) throws(FileAccessError) -> DiskTraits? {
        var above = path.parent
        while let directory = above {
            do throws(FileAccessError) {
                // Opening it asks its disk.
                _ = try self.directory(directory)
                break
            } catch {
                guard error.isAbsence else { throw error }
                above = directory.parent
            }
        }
        let own = traits(at: path.text)
        let isOrdinary = !own.foldsNames && !own.dropsTrailingDots && !own.manglesDeviceNames
        return isOrdinary && disks.places.isEmpty && !traits.foldsNames ? nil : own
    }

    /// Whether the disk would keep the name of `path`, or of a directory above it, as another one.
    package func changesName(of path: RelativePath) -> Bool {
        var here: RelativePath? = path
        while let path = here {
            if traits(at: path.text).changes(path.name) { return true }
            here = path.parent
        }
        return false
    }

    /// Whether something in the directory may be called otherwise than it is asked for, so that `twin` is to be asked, too.
    package func mayHaveTwins(in directory: Directory) -> Bool {
        traits.foldsNames || directory.foldsNames || !disks.places.isEmpty
    }

    /// What has the place of `path` on a disk that folds names, though it is called otherwise: of `Dir/a` where there is `dir`, that is
    /// `dir`. Nil where `path` leads to nothing, or to what is called so, and on other disks. For the agent's own names the one that
    /// has their place is named even if nothing is there.
    ///
    /// - Throws: `FileAccessError` if a directory on the way cannot be read.
    package func twin(of path: RelativePath) throws(FileAccessError) -> RelativePath? {
        // Opening a directory asks its disk.
        if !traits.foldsNames, try parentDirectory(of: path)?.traits.foldsNames != true, disks.places.isEmpty {
            return nil
        }
        var here = try directory(nil)
        if here.foldsNames, let own = path.internalTwin { return own }
        for (position, component) in path.components.enumerated() {
            let name = String(component)
            switch try here.foldsNames ? here.spelling(of: name) : here.status(ofName: name).map({ _ in .exact }) {
            case nil: return nil
            case .other(let listed): return RelativePath(here.displayPath(of: listed ?? name))
            case .exact:
                guard position < path.components.count - 1, try here.status(ofName: name)?.type == .directory,
                    let next = RelativePath(here.displayPath(of: name))
                else { return nil }
                here = try directory(next)
            }
        }
        return nil
    }
}

extension UInt8 {
    fileprivate var isASCIILetter: Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self)
    }
}
