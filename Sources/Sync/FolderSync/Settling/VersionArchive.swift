import AgentConfiguration
import Arithmetic
import BlockExchange
import FileAccess
import IndexStore
import Names
import Phrases
import Reconciliation

/// Where one folder keeps what was replaced or deleted in it, open for a few changes.
///
/// A file gets its name in the archive before it loses its place, so that at no moment it has neither. Calls block their
/// thread.
package struct VersionArchive: Sendable {
    /// An archived version.
    package struct Version: Equatable, Sendable {
        /// Of the file that it is a version of, relative to the folder; cut (`VersionName.family`) where only that is known.
        package var name: String
        /// In the archive.
        package var path: RelativePath
        /// When it was archived, in unix seconds.
        package var archived: Int64
        package var status: FileAccess.FileStatus
    }

    package static let directory = ".stversions"
    /// Versions of one name that may come in one second, and the next few.
    private static let sameSecondLimit = 1000

    package let folder: RootDirectory
    package let root: RootDirectory
    /// Nil: nothing is archived any more, and nothing goes.
    package let rules: VersionRules?
    package let now: Int64
    package let utcOffset: @Sendable (Int64) -> Int64

    /// Opens the folder's archive; nil if there is none and nothing is to be archived. One outside of the folder must be there if
    /// the folder archives: else it would be made where its disk is to be mounted.
    ///
    /// - Throws: `FileAccessError`, `noArchive` if it is not there; `FolderHalt` (`error`) if the archive and the folder are nested.
    package static func open(
        of folder: RootDirectory, _ settings: FolderVersions, isCreating: Bool, now: Int64,
        utcOffset: @escaping @Sendable (Int64) -> Int64
    ) throws -> VersionArchive? {
        let root: RootDirectory
        do {
            if let path = settings.path {
                root = try RootDirectory(path: path, like: folder)
                try refuseNested(root, folder)
                guard try settings.kind == .none || isMarked(root) else {
                    throw FileAccessError(.noArchive, .open, path: path)
                }
            } else {
                let path = try RelativePath(parsing: directory)
                if isCreating { try folder.createDirectories(path) }
                root = try RootDirectory(beneath: folder, path)
            }
        } catch let error as FileAccessError where error.code == .notFound {
            if let path = settings.path, settings.kind != .none { throw FileAccessError(.noArchive, .open, path: path) }
            guard isCreating else { return nil }
            throw error
        }
        return VersionArchive(
            folder: folder, root: root, rules: VersionRules(settings), now: now, utcOffset: utcOffset)
    }

    // MARK: outside of the folder

    /// Makes the archive at `path`, which is outside of the folder, or takes over what is there.
    ///
    /// - parameter note: What is known of it. Once it was made it is not made again: its disk is not mounted.
    /// - Returns: whether it is there.
    /// - Throws: `FileAccessError`, `noArchive` for a directory with files that are not the archive's; `FolderHalt` (`error`) if
    ///   the archive and the folder are nested.
    static func prepare(
        at path: String, of folder: RootDirectory, note: IndexStore.ArchiveNote?
    ) throws -> Bool {
        let wasMade = note == .made(path)
        let root: RootDirectory
        do {
            root = try RootDirectory(path: path, like: folder)
        } catch {
            guard error.code == .notFound else { throw error }
            if wasMade { return false }
            // It may have been made, where the directory of a disk that is not mounted is gone.
            if note == .unknown, (try? RootDirectory(path: parent(of: path))) == nil { return false }
            root = try RootDirectory(creating: path, like: folder)
        }
        try refuseNested(root, folder)
        if try isMarked(root) { return true }
        if wasMade { return false }
        guard try note == .unknown || ArchiveMarker.isEmpty(root.list(nil).map { $0.name ?? "" }) else {
            throw FileAccessError(.noArchive, .open, path: path)
        }
        let staged = try root.stage(RelativePath(parsing: ArchiveMarker.name), resuming: false)
        try staged.write(Array(ArchiveMarker.text.utf8), at: 0)
        _ = try staged.commit(replacing: .nothing, permissions: 0o644, modified: nil)
        return true
    }

    /// Of an absolute and clean path.
    private static func parent(of path: String) -> String {
        path.parentPath.isEmpty ? "/" : String(path.parentPath)
    }

    private static func isMarked(_ root: RootDirectory) throws -> Bool {
        try root.status(of: RelativePath(parsing: ArchiveMarker.name))?.type == .regular
    }

    private static func refuseNested(_ root: RootDirectory, _ folder: RootDirectory) throws {
        guard try !root.isSameOrInside(folder), try !folder.isSameOrInside(root) else {
            throw FolderHalt(
                reason: .error,
                message: Phrase(
                    "the archive \(root.path) and the folder \(folder.path) are nested; choose another versions-path"))
        }
    }

    // MARK: archiving

    /// A second name, in the archive, of a file that something is about to take the place of.
    package struct Kept: Sendable {
        /// The file's place in the folder.
        package let path: RelativePath
        /// Its name in the archive.
        package let name: RelativePath
        /// What must be in its place from now on.
        package let left: FileAccess.FileStatus
        /// Whether it is to replace the last version in a trashcan, which stays until it is certain that this one is to be
        /// kept.
        fileprivate let replacesLast: Bool

        /// What it is called in the archive once it has lost its place.
        package var lastName: RelativePath { replacesLast ? path : name }
    }

    /// Gives a file that something is about to take the place of a second name, in the archive. What comes of the
    /// replacement is told by `finish` or `withdraw`; until then, nothing in the archive has given way. Throws
    /// `changedOnDisk` if the file is not what was `expected`.
    ///
    /// - Parameter isTagged: Whether the name gets the time in any case, so that no other version gives way.
    package func keep(
        _ path: RelativePath, expecting expected: FileAccess.FileStatus, isTagged: Bool = false,
        durability: Durability = .immediate
    ) throws -> Kept {
        var left = expected
        let (name, replacesLast) = try archiving(path, isTagged: isTagged) { target in
            left = try folder.preserve(path, in: root, as: target, expecting: expected, durability: durability)
        }
        return Kept(path: path, name: name, left: left, replacesLast: replacesLast)
    }

    /// Moves a file into the archive. Throws `changedOnDisk` if it is not what was `expected`.
    @discardableResult
    package func take(
        _ path: RelativePath, expecting expected: FileAccess.FileStatus, durability: Durability = .immediate
    ) throws -> RelativePath {
        // The time that a trashcan's file gets must not outlast its way there: in its old place it would look changed.
        let durability = rules?.isTagging == false ? Durability.immediate : durability
        let (name, replacesLast) = try archiving(path, isTagged: false) { target in
            try folder.move(path, into: root, as: target, expecting: expected, durability: durability)
        }
        return try finish(Kept(path: path, name: name, left: expected, replacesLast: replacesLast))
    }

    /// The file that was kept has lost its place: the archive's name is all that it has. Gives that name.
    ///
    /// - Throws: `FileAccessError`; the file stays in the archive.
    @discardableResult
    package func finish(_ kept: Kept) throws -> RelativePath {
        let name = kept.lastName
        if kept.replacesLast {
            try root.rename(kept.name, to: name, replacing: .anything, durability: .deferred)
            // Two names of one file: nothing was moved.
            _ = try root.remove(kept.name, expecting: nil, durability: .deferred)
        }
        // Without the time in its name, it is the time of the file that says when it was archived, as in Syncthing. A file that
        // has another name yet may be known by its time there.
        guard VersionName.parse(name.name) == nil, try root.status(of: name)?.linkCount == 1 else { return name }
        try root.setModificationTime(FileTime(seconds: now), of: name)
        return name
    }

    /// The file that was kept has not lost its place, or nobody knows. If it has, it stays in the archive as it is, in a
    /// trashcan beside the version before it.
    package func withdraw(_ kept: Kept) {
        guard let now = try? folder.status(of: kept.path), let archived = try? root.status(of: kept.name),
            now.isSameFile(as: archived) || now.isUnchanged(since: kept.left.beforeRenaming)
        else { return }
        // What cannot be removed is a version too many.
        _ = try? root.remove(kept.name, expecting: nil, durability: .deferred)
    }

    /// Makes names that were given with deferred durability durable.
    ///
    /// - Throws: `FileAccessError`.
    package func synchronize() throws { try root.synchronizeFileSystem() }

    /// - Returns: The name that `body` has filled, and whether it is to replace the last version in a trashcan.
    private func archiving(
        _ path: RelativePath, isTagged: Bool, _ body: (_ target: RelativePath) throws -> Void
    ) throws -> (name: RelativePath, replacesLast: Bool) {
        try makeDirectory(for: path)
        // A name that looks like a version's would be taken for one of another file.
        let isLast = !isTagged && rules?.isTagging == false && VersionName.parse(path.name) == nil
        let last = isLast ? try root.status(of: path) : nil
        if isLast, last == nil {
            try body(path)
            return (path, false)
        }
        var time = ConflictTime(unixSeconds: now, utcOffset: utcOffset(now))
        for _ in 1..<Self.sameSecondLimit {
            let target = try path.replacingName(with: VersionName.tagged(path.name, at: time))
            do {
                try body(target)
                return (target, last.map { $0.type != .directory } ?? false)
            } catch let error as FileAccessError where error.code == .exists {
                time = time.next
            }
        }
        throw FileAccessError(.exists, .rename, path: path.text)
    }

    /// Makes the directory for `path`. A version whose name is in the way gets the time into its name.
    private func makeDirectory(for path: RelativePath) throws {
        guard let parent = path.parent else { return }
        do {
            try root.createDirectories(parent)
        } catch {
            guard error.code == .notADirectory else { throw error }
            var above: RelativePath? = parent
            while let directory = above {
                if let status = try root.status(of: directory), status.type != .directory {
                    let time = ConflictTime(unixSeconds: now, utcOffset: utcOffset(now))
                    let name = VersionName.tagged(directory.name, at: time)
                    try root.rename(directory, to: directory.replacingName(with: name))
                }
                above = directory.parent
            }
            try root.createDirectories(parent)
        }
    }

    // MARK: looking and cleaning

    /// What one directory of the archive holds.
    package struct Listing: Sendable {
        /// By the names of the files that they are versions of; oldest first within each (`VersionRules.isOlder`).
        package var versions: [(name: String, versions: [Version])] = []
        package var directories: [RelativePath] = []

        /// Names what has the key's name, as only a cut name is known, by the value.
        package mutating func rename(_ names: [String: String]) {
            guard !names.isEmpty else { return }
            versions = versions.map { name, versions in
                guard let whole = names[name] else { return (name, versions) }
                return (
                    whole,
                    versions.map { Version(name: whole, path: $0.path, archived: $0.archived, status: $0.status) }
                )
            }
        }
    }

    /// The versions in a directory of the archive, nil for its top, of all names whose `VersionName.family` is wanted.
    ///
    /// - Throws: `FileAccessError`; a directory that is not there is an empty listing.
    package func list(_ directory: RelativePath?, isWanted: (String) -> Bool = { _ in true }) throws -> Listing {
        var listing = Listing()
        let entries: [DirectoryEntry]
        do {
            entries = try root.list(directory)
        } catch {
            guard error.isAbsence else { throw error }
            return listing
        }
        var found: [NameKey: [Version]] = [:]
        for entry in entries {
            guard let name = entry.name, let path = try? directory?.appending(name) ?? RelativePath(parsing: name)
            else { continue }
            switch entry.type {
            case .directory: listing.directories.append(path)
            case .regular:
                guard directory != nil || name != ArchiveMarker.name else { continue }
                let family = VersionName.parse(path.text)?.original ?? VersionName.family(of: path.text)
                guard !path.isTemporary, isWanted(family), let status = try root.status(of: path),
                    status.type == .regular
                else { continue }
                found[family, default: []].append(version(path, status))
            case .symlink, .other: continue
            }
        }
        listing.directories.sort()
        listing.versions = found.sorted { $0.key.text.utf8.lexicographicallyPrecedes($1.key.text.utf8) }.map {
            name, versions in
            (name.text, versions.sorted(by: precedes))
        }
        // A version without a time in its name has the whole name.
        let wholes = listing.versions.compactMap { name, versions in
            versions.first { $0.name != name }.map { (name, $0.name) }
        }
        listing.rename(Dictionary(wholes, uniquingKeysWith: { first, _ in first }))
        return listing
    }

    /// The versions of one name, in a listing of its own.
    ///
    /// - Throws: `FileAccessError`.
    package func list(of path: RelativePath) throws -> Listing {
        let family = VersionName.family(of: path.text)
        var listing = try list(path.parent) { $0.utf8.elementsEqual(family.utf8) }
        listing.rename([family: path.text])
        return listing
    }

    /// The versions of one name, oldest first.
    ///
    /// - Throws: `FileAccessError`.
    package func versions(of path: RelativePath) throws -> [Version] {
        try list(of: path).versions.flatMap(\.versions)
    }

    /// What has a name in the archive; nil if nothing has.
    ///
    /// - Throws: `FileAccessError`.
    func version(at path: RelativePath) throws -> Version? {
        try root.status(of: path).map { version(path, $0) }
    }

    private func version(_ path: RelativePath, _ status: FileAccess.FileStatus) -> Version {
        let changed = min(status.changed?.seconds ?? .min, now)
        if let (original, time) = VersionName.parse(path.text) {
            var archived = time.unixSeconds(utcOffset: utcOffset, changed: status.changed?.seconds)
            // In a trashcan it may be the file's own name: from Syncthing, or from before these got the time.
            if rules?.isTagging == false { archived = max(archived, changed) }
            return Version(name: original, path: path, archived: archived, status: status)
        }
        // A process that died before it could set the time has left the file's own; then the disk knows when it came.
        return Version(name: path.text, path: path, archived: max(status.modified.seconds, changed), status: status)
    }

    private func age(of version: Version) -> Int64 { now.subtractingClamped(version.archived) }

    private func precedes(_ version: Version, _ other: Version) -> Bool {
        let (age, otherAge) = (age(of: version), age(of: other))
        return age == otherAge ? version.path < other.path : VersionRules.isOlder(age, than: otherAge)
    }

    /// Lets go what the rules do not keep any more, now that these versions have come. They stay themselves.
    ///
    /// - parameter archived: Names in the archive.
    /// - Throws: `FileAccessError`, the first, after all else was done.
    package func expire(after archived: some Sequence<RelativePath>) throws {
        guard rules?.isTagging == true else { return }
        var failure: (any Error)?
        for (directory, names) in Dictionary(grouping: archived, by: \.parent) {
            let wanted = Set(names: names.compactMap { VersionName.parse($0.text)?.original })
            do {
                let listing = try list(directory, isWanted: wanted.contains)
                for (_, versions) in listing.versions { drop(versions, keeping: Set(names), &failure) }
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    /// Lets go what the rules do not keep, and what is left of copies that were cut short; then the directories that are empty
    /// by that. Others may be somebody's.
    ///
    /// - Throws: `FileAccessError`, the first, after all else was done.
    package func clean() throws {
        guard rules != nil else { return }
        var failure: (any Error)?
        clean(nil, &failure)
        if let failure { throw failure }
    }

    /// - Returns: whether something in the directory went.
    @discardableResult
    private func clean(_ directory: RelativePath?, _ failure: inout (any Error)?) -> Bool {
        let listing: Listing
        do {
            listing = try list(directory)
        } catch {
            failure = failure ?? error
            return false
        }
        var hasRemoved = false
        for (_, versions) in listing.versions {
            if drop(versions, &failure) { hasRemoved = true }
        }
        for child in listing.directories {
            guard clean(child, &failure) else { continue }
            do {
                try root.removeDirectory(child, durability: .deferred)
                hasRemoved = true
            } catch {
                if error.code != .directoryNotEmpty { failure = failure ?? error }
            }
        }
        do {
            for entry in try root.list(directory) where entry.type == .regular {
                guard let name = entry.name, let path = try? directory?.appending(name) ?? RelativePath(parsing: name),
                    path.isTemporary
                else { continue }
                _ = try root.removeTemporary(path)
                hasRemoved = true
            }
        } catch {
            failure = failure ?? error
        }
        return hasRemoved
    }

    /// - Returns: whether one of them went.
    @discardableResult
    private func drop(
        _ versions: [Version], keeping kept: Set<RelativePath> = [], _ failure: inout (any Error)?
    ) -> Bool {
        guard let rules else { return false }
        // As in Syncthing: what has no time in its name is not of these rules' making.
        let versions = rules.isTagging ? versions.filter { VersionName.parse($0.path.name) != nil } : versions
        var hasRemoved = false
        let keeping = versions.indices.filter { kept.contains(versions[$0].path) }
        for index in rules.dropped(ages: versions.map(age(of:)), keeping: Set(keeping)) {
            do {
                try root.remove(versions[index].path, expecting: versions[index].status, durability: .deferred)
                hasRemoved = true
            } catch {
                // A program writes to it: it goes with the next cleaning.
                if error.code != .busy { failure = failure ?? error }
            }
        }
        return hasRemoved
    }
}

extension VersionRules {
    /// Nil where nothing is to be archived.
    init?(_ settings: FolderVersions) {
        switch settings.kind {
        case .none: return nil
        case .trashcan: self = .trashcan(cleanoutDays: settings.cleanoutDays)
        case .simple: self = .simple(keep: settings.keep, cleanoutDays: settings.cleanoutDays)
        case .staggered: self = .staggered(maximumAgeDays: settings.maximumAgeDays)
        }
    }
}
