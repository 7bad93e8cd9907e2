import AgentContext
import BlockExchange
import ControlAPI
import FileAccess
import Reconciliation

/// Lists archived versions. Reads only; needs no turn.
package struct VersionReading: Sendable {
    package let folder: FolderContext

    package init(folder: FolderContext) {
        self.folder = folder
    }

    /// Those of a file, or of all at and below a directory; of everything for an empty path.
    ///
    /// - Throws: `RelativePathError` for what is not a path; `FileAccessError`; `FolderHalt` if the archive and the
    ///   folder are nested; what `emit` throws; `CancellationError`.
    package func list(below path: String, emit: @Sendable (ArchivedVersion) async throws -> Void) async throws {
        let access = folder.archive
        guard let archive = try await folder.onDisk({ try access.open(isCreating: false) }) else { return }
        func emitAll(_ listing: VersionArchive.Listing) async throws {
            for (_, versions) in listing.versions {
                for version in versions { try await emit(ArchivedVersion(version, of: folder.id, in: archive)) }
            }
        }
        var waiting: [RelativePath?] = [nil]
        if !path.isEmpty {
            let path = try RelativePath(parsing: path)
            try await emitAll(try await folder.onDisk { try archive.list(of: path) })
            waiting = [path]
        }
        while let directory = waiting.popLast() {
            let listing = try await list(directory, archive)
            try await emitAll(listing)
            waiting += listing.directories.reversed()
        }
    }
}

extension VersionReading {
    /// What a directory of the archive holds, with the whole names of the files that are here or on other devices.
    private func list(_ directory: RelativePath?, _ archive: VersionArchive) async throws -> VersionArchive.Listing {
        var listing = try await folder.onDisk { try archive.list(directory) }
        guard listing.versions.contains(where: { VersionName.mayBeCut($0.name) }) else { return listing }
        let wholes = try await folder.names(in: directory).map { (VersionName.family(of: $0), $0) }
        listing.rename(Dictionary(wholes.filter { $0.0 != $0.1 }, uniquingKeysWith: { first, _ in first }))
        return listing
    }

    /// Those files at and below `path` that neither this disk nor any device has, in the order of their directories.
    ///
    /// - Throws: as `list`; `IndexStoreError`.
    package func deleted(below path: String, emit: (DeletedFile) async throws -> Void) async throws {
        let access = folder.archive
        guard let archive = try await folder.onDisk({ try access.open(isCreating: false) }) else { return }
        var waiting: [RelativePath?] = [nil]
        if !path.isEmpty {
            let path = try RelativePath(parsing: path)
            let own = try await folder.onDisk { try archive.list(of: path) }
            for file in try await deleted(own) { try await emit(file) }
            waiting = [path]
        }
        while let directory = waiting.popLast() {
            let listing = try await list(directory, archive)
            for file in try await deleted(listing) { try await emit(file) }
            waiting += listing.directories.reversed()
        }
    }

    private func deleted(_ listing: VersionArchive.Listing) async throws -> [DeletedFile] {
        var found: [DeletedFile] = []
        let root = folder.root
        for start in stride(from: 0, to: listing.versions.count, by: FolderIndex.pageLimit) {
            let part = listing.versions[start..<min(start + FolderIndex.pageLimit, listing.versions.count)]
            let names = part.map(\.name)
            let present = try await folder.onDisk {
                try names.map { try RelativePath($0).flatMap { try root.status(of: $0) } != nil }
            }
            for (((name, versions), facts), isPresent) in zip(zip(part, try await folder.index.facts(names)), present) {
                guard !isPresent, facts.global.map({ $0.isDeleted || $0.isInvalid }) ?? true, let last = versions.last
                else { continue }
                let modified = last.status.modified
                found.append(
                    DeletedFile(
                        folder: folder.id.rawValue, path: name, archived: WallTime(seconds: last.archived).rfc3339,
                        size: last.status.size,
                        modified: WallTime(seconds: modified.seconds, nanoseconds: modified.nanoseconds).rfc3339,
                        versions: versions.count,
                        deletedBy: facts.global.flatMap { $0.isDeleted ? $0.modifiedBy.description : nil }))
            }
        }
        return found
    }

    /// The bytes of the version that was in a place at a time; see `VersionRestore`.
    ///
    /// - Throws: `RelativePathError`; `FolderError` if there is none; `ControlError` `tooLarge` beyond `limit`; `FileAccessError`.
    package func bytes(of path: String, at time: Int64, limit: Int) async throws -> [UInt8] {
        let (path, access) = (try RelativePath(parsing: path), folder.archive)
        return try await folder.onDisk {
            guard let archive = try access.open(isCreating: false),
                let version = try archive.versions(of: path).version(at: time)
            else { throw FolderError.noVersion(path.text, isAtTime: true) }
            guard version.status.size <= limit else {
                throw ControlError(
                    .tooLarge, "The version has \(ByteText.size(version.status.size)). Restore it to open it.",
                    path: path.text)
            }
            return try archive.root.open(reading: version.path).read(count: limit, at: 0)
        }
    }
}

/// Puts a copy of an archived version into its place; the archive keeps it until its rules let it go.
package struct RestoreVersionStep: FolderStep {
    package let path: String
    /// Seconds since 1970: what was in the place then; nil for the last version.
    package let time: Int64?
    /// Whether something else may be replaced.
    package let isConfirmed: Bool

    package init(path: String, time: Int64?, isConfirmed: Bool) {
        self.path = path
        self.time = time
        self.isConfirmed = isConfirmed
    }

    /// - Throws: `FolderError` for what is not selected, for a folder that only receives, for a version that there is not, for
    ///   something in the place, and for a disk without room.
    package func run(_ folder: FolderContext, _ work: inout FolderWork) async throws -> RestoredVersion {
        let path = try RelativePath(parsing: path)
        guard !path.isInternal, !path.isTemporary else { throw FolderError.notSelected(path.text) }
        let (archive, version, present) = try await find(path, folder)
        // What would be in the staged file alone is lost if the process dies: so nothing gives way in the archive.
        let replaced = try await folder.placeCopy(
            of: version.path, in: archive.root, expecting: version.status, at: path,
            permissions: version.status.permissions & 0o777, modified: version.status.modified, isTagged: true, &work)
        work.log(.restored, [path.text], folder.index)
        return RestoredVersion(
            version: ArchivedVersion(version, of: folder.id, in: archive), isReplacement: present != nil,
            replaced: replaced)
    }

    private func find(
        _ path: RelativePath, _ folder: FolderContext
    ) async throws -> (VersionArchive, VersionArchive.Version, FileAccess.FileStatus?) {
        let (root, access, time, isConfirmed) = (folder.root, folder.archive, time, isConfirmed)
        let isSelected = !folder.selection.isLeftOut(path.text)
        let isSent = folder.rules.kind != .receiveOnly
        let freeBytes = try folder.unreservedBytes()
        return try await folder.onDisk {
            let archive = try access.open(isCreating: false)
            let versions = try archive?.versions(of: path) ?? []
            guard !versions.isEmpty || access.settings.kind != .none else {
                throw FolderError.keepsNoVersions(path.text)
            }
            guard let archive, let version = versions.version(at: time) else {
                throw FolderError.noVersion(path.text, isAtTime: time != nil && !versions.isEmpty)
            }
            // Only now: without a version, neither would help.
            guard isSent else { throw FolderError.receivesOnly(.restore) }
            guard isSelected else { throw FolderError.notSelected(path.text) }
            let present = try root.status(of: path)
            if let present {
                guard present.type != .directory else { throw FolderError.isDirectory(path.text) }
                guard isConfirmed else {
                    throw FolderError.wouldReplace(
                        path.text, size: present.size, archived: version.archivedText(archive),
                        isArchiving: archive.rules != nil)
                }
            }
            guard freeBytes > UInt64(clamping: version.status.size) else { throw FolderError.noSpace(path.text) }
            return (archive, version, present)
        }
    }
}

extension [VersionArchive.Version] {
    /// What was in the place at a time, which is the first that was archived then or later; the last of all for nil.
    /// `self` is in the order in which they were archived, as far as that is known.
    fileprivate func version(at time: Int64?) -> VersionArchive.Version? {
        guard let time else { return last }
        return filter { $0.archived >= time }.min { $0.archived < $1.archived }
    }
}

extension VersionArchive.Version {
    /// As people write it; the name in the archive has only digits.
    fileprivate func archivedText(_ archive: VersionArchive) -> String {
        var text = ConflictTime(unixSeconds: archived, utcOffset: archive.utcOffset(archived)).description[...]
        var parts: [Substring] = []
        for count in [4, 2, 2, 1, 2, 2] {
            parts.append(text.prefix(count))
            text = text.dropFirst(count)
        }
        return "\(parts[0])-\(parts[1])-\(parts[2]) \(parts[4]):\(parts[5]):\(text)"
    }
}

extension VersionArchive {
    package func absolutePath(_ path: RelativePath) -> String { root.path + "/" + path.text }
}

extension ArchivedVersion {
    package init(_ version: VersionArchive.Version, of folder: FolderID, in archive: VersionArchive) {
        let modified = version.status.modified
        self.init(
            folder: folder.rawValue, path: version.name, archived: WallTime(seconds: version.archived).rfc3339,
            size: version.status.size,
            modified: WallTime(seconds: modified.seconds, nanoseconds: modified.nanoseconds).rfc3339,
            file: archive.absolutePath(version.path))
    }
}
