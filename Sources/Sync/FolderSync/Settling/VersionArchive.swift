import AgentConfiguration
import Arithmetic
import FileAccess
import Reconciliation

/// Where one folder keeps what was replaced or deleted in it, open for a few changes.
///
/// A file gets its name in the archive before it loses its place, so that at no moment it has neither. Calls block their
/// thread.
package struct VersionArchive: Sendable {
    /// An archived version.
    package struct Version: Equatable, Sendable {
        /// Of the file that it is a version of, relative to the folder.
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

    /// Opens the folder's archive; nil if there is none and it is not to be made.
    package static func open(
        of folder: RootDirectory, _ settings: FolderVersions, isCreating: Bool, now: Int64,
        utcOffset: @escaping @Sendable (Int64) -> Int64
    ) throws -> VersionArchive? {
        let root: RootDirectory
        do {
            if let path = settings.path {
                root = try isCreating ? RootDirectory(creating: path) : RootDirectory(path: path)
                guard try !root.isSameOrInside(folder), try !folder.isSameOrInside(root) else {
                    throw FolderHalt(
                        reason: .error,
                        message:
                            "the archive \(path) and the folder \(folder.path) are nested; choose another "
                            + "versions-path")
                }
            } else {
                let path = try RelativePath(parsing: directory)
                if isCreating { try folder.createDirectories(path) }
                root = try RootDirectory(beneath: folder, path)
            }
        } catch let error as FileAccessError where !isCreating && error.code == .notFound {
            return nil
        }
        return VersionArchive(
            folder: folder, root: root, rules: VersionRules(settings), now: now, utcOffset: utcOffset)
    }

    // MARK: archiving

    /// Gives a file that something is about to take the place of a second name, in the archive. What comes of the
    /// replacement is told by `finish` or `withdraw`. Throws `changedOnDisk` if the file is not what was `expected`.
    ///
    /// - Parameter isTagged: Whether the name gets the time in any case, so that no other version gives way.
    package func keep(
        _ path: RelativePath, expecting expected: FileAccess.FileStatus, isTagged: Bool = false,
        durability: Durability = .immediate
    ) throws -> RelativePath {
        try archiving(path, isTagged: isTagged) { target, isReplacing in
            try folder.preserve(
                path, in: root, as: target, expecting: expected, isReplacing: isReplacing, durability: durability)
        }
    }

    /// Moves a file into the archive. Throws `changedOnDisk` if it is not what was `expected`.
    @discardableResult
    package func take(
        _ path: RelativePath, expecting expected: FileAccess.FileStatus, durability: Durability = .immediate
    ) throws -> RelativePath {
        // The time that a trashcan's file gets must not outlast its way there: in its old place it would look changed.
        let durability = rules?.isTagging == false ? Durability.immediate : durability
        let archived = try archiving(path) { target, isReplacing in
            try folder.move(
                path, into: root, as: target, expecting: expected, isReplacing: isReplacing, durability: durability)
        }
        try finish(archived)
        return archived
    }

    /// The file that was kept has lost its place: the archive's name is all that it has.
    package func finish(_ archived: RelativePath) throws {
        // Without the time in its name, it is the time of the file that says when it was archived, as in Syncthing.
        guard VersionName.parse(archived.name) == nil else { return }
        try root.setModificationTime(FileTime(seconds: now), of: archived)
    }

    /// The file that was kept has not lost its place.
    package func withdraw(_ archived: RelativePath) {
        // What cannot be removed is a version too many.
        _ = try? root.remove(archived, expecting: nil, durability: .deferred)
    }

    /// Makes names that were given with deferred durability durable.
    package func synchronize() throws { try root.synchronizeFileSystem() }

    private func archiving(
        _ path: RelativePath, isTagged: Bool = false,
        _ body: (_ target: RelativePath, _ isReplacing: Bool) throws -> Void
    ) throws -> RelativePath {
        try makeDirectory(for: path)
        if !isTagged, rules?.isTagging == false, try root.status(of: path)?.type != .directory {
            try body(path, true)
            return path
        }
        var time = ConflictTime(unixSeconds: now, utcOffset: utcOffset(now))
        for _ in 1..<Self.sameSecondLimit {
            let target = try path.replacingName(with: VersionName.tagged(path.name, at: time))
            do {
                try body(target, false)
                return target
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
        /// By the names of the files that they are versions of; oldest first within each.
        package var versions: [(name: String, versions: [Version])] = []
        package var directories: [RelativePath] = []
    }

    /// The versions in a directory of the archive, nil for its top, of all names that are wanted.
    package func list(_ directory: RelativePath?, isWanted: (String) -> Bool = { _ in true }) throws -> Listing {
        var listing = Listing()
        let entries: [DirectoryEntry]
        do {
            entries = try root.list(directory)
        } catch {
            guard error.isAbsence else { throw error }
            return listing
        }
        var found: [String: [Version]] = [:]
        for entry in entries {
            guard let name = entry.name, let path = try? directory?.appending(name) ?? RelativePath(parsing: name)
            else { continue }
            switch entry.type {
            case .directory: listing.directories.append(path)
            case .regular:
                guard !path.isTemporary, isWanted(VersionName.parse(path.text)?.original ?? path.text),
                    let status = try root.status(of: path), status.type == .regular
                else { continue }
                let version = version(path, status)
                found[version.name, default: []].append(version)
            case .symlink, .other: continue
            }
        }
        listing.directories.sort()
        listing.versions = found.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.map { name, versions in
            (name, versions.sorted { ($0.archived, $0.path) < ($1.archived, $1.path) })
        }
        return listing
    }

    /// The versions of one name, oldest first.
    package func versions(of path: RelativePath) throws -> [Version] {
        try list(path.parent) { $0.utf8.elementsEqual(path.text.utf8) }.versions.flatMap(\.versions)
    }

    private func version(_ path: RelativePath, _ status: FileAccess.FileStatus) -> Version {
        if let (original, time) = VersionName.parse(path.text) {
            return Version(
                name: original, path: path, archived: time.unixSeconds(utcOffset: utcOffset), status: status)
        }
        // A process that died before it could set the time has left the file's own; then the disk knows when it came.
        let archived = max(status.modified.seconds, min(status.changed?.seconds ?? .min, now))
        return Version(name: path.text, path: path, archived: archived, status: status)
    }

    /// Lets go what the rules do not keep of these names.
    package func expire(_ names: some Sequence<RelativePath>) throws {
        guard rules?.isTagging == true else { return }
        for (directory, names) in Dictionary(grouping: names, by: \.parent) {
            let wanted = Set(names.map(\.text))
            for (_, versions) in try list(directory, isWanted: wanted.contains).versions { try drop(versions) }
        }
    }

    /// Lets go what the rules do not keep, and what is left of copies that were cut short; then empty directories.
    package func clean() throws {
        guard rules != nil else { return }
        try clean(nil)
    }

    private func clean(_ directory: RelativePath?) throws {
        let listing = try list(directory)
        for (_, versions) in listing.versions { try drop(versions) }
        for child in listing.directories {
            try clean(child)
            do {
                try root.removeDirectory(child, durability: .deferred)
            } catch {
                guard error.code == .directoryNotEmpty else { throw error }
            }
        }
        for entry in try root.list(directory) where entry.type == .regular {
            guard let name = entry.name, let path = try? directory?.appending(name) ?? RelativePath(parsing: name),
                path.isTemporary
            else { continue }
            _ = try root.removeTemporary(path)
        }
    }

    private func drop(_ versions: [Version]) throws {
        guard let rules else { return }
        let ages = versions.map { now.subtractingClamped($0.archived) }
        for index in rules.dropped(ages: ages) {
            try root.remove(versions[index].path, expecting: versions[index].status, durability: .deferred)
        }
    }
}

extension VersionArchive? {
    /// Puts a staged file into the place of what was seen there, which goes to the archive if there is one; if it cannot
    /// be, the staged file is given up. Gives the archive's name of it.
    ///
    /// - Parameter isTagged: As `VersionArchive.keep`.
    @discardableResult
    package func replacing(
        _ path: RelativePath, _ present: FileAccess.FileStatus?, by staged: StagedFile, permissions: UInt32?,
        modified: FileTime?, isTagged: Bool = false
    ) throws -> RelativePath? {
        let archive = self.flatMap { $0.rules == nil ? nil : $0 }
        var kept: RelativePath?
        do {
            if let archive, let present, present.type == .regular {
                kept = try archive.keep(path, expecting: present, isTagged: isTagged)
            }
            _ = try staged.commit(
                replacing: present.map { .exactly($0) } ?? .nothing, permissions: permissions, modified: modified)
        } catch {
            if let kept { archive?.withdraw(kept) }
            try staged.discard()
            throw error
        }
        if let kept { try archive?.finish(kept) }
        try archive?.expire([path])
        return kept
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
