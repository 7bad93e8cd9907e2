import BlockExchange
import ControlAPI
import FileAccess
import Reconciliation

/// Looking at archived versions, and bringing them back.
extension FolderEngine {
    func versions(below path: String, emit: @Sendable (ArchivedVersion) async throws -> Void) async throws {
        let root = try session.place().get().root
        guard let archive = try await onDisk({ try self.archive(in: root, isCreating: false) }) else { return }
        func emitAll(_ listing: VersionArchive.Listing) async throws {
            for (_, versions) in listing.versions {
                for version in versions { try await emit(ArchivedVersion(version, of: folder, in: archive)) }
            }
        }
        var waiting: [RelativePath?] = [nil]
        if !path.isEmpty {
            let path = try RelativePath(parsing: path)
            try await emitAll(
                try await onDisk { try archive.list(path.parent) { $0.utf8.elementsEqual(path.text.utf8) } })
            waiting = [path]
        }
        while let directory = waiting.popLast() {
            let listing = try await onDisk { try archive.list(directory) }
            try await emitAll(listing)
            waiting += listing.directories.reversed()
        }
    }

    func restoreVersion(_ path: String, at time: Int64?, isConfirmed: Bool) async throws -> RestoredVersion {
        let path = try RelativePath(parsing: path)
        return try await exclusively { [self] in
            let place = try await currentPlace()
            let shown = "\(folder):\(path.text)"
            guard !path.isInternal, !path.isTemporary, !place.selection.isLeftOut(path.text) else {
                throw ControlError(
                    .invalidRequest, "\(shown) is not selected here; select it first: `synctrain select \(shown)`",
                    path: path.text)
            }
            let now = environment.time.wall().seconds
            let freeBytes = try place.root.freeSpace().available
            let floor = freeSpaceFloor(of: try place.root.freeSpace())
            let restored = try await onDisk {
                guard let archive = try self.archive(in: place.root, isCreating: false),
                    let version = try archive.versions(of: path).version(at: time)
                else {
                    throw ControlError(
                        .noSuchPath,
                        time == nil
                            ? "there is no archived version of \(shown); `synctrain versions list` shows those there are"
                            : "no version of \(shown) was archived then or later: what was there at that time is there now",
                        path: path.text)
                }
                let present = try place.root.status(of: path)
                if let present {
                    guard present.type != .directory else {
                        throw ControlError(
                            .alreadyExists, "\(shown) is a directory; move it away first", path: path.text)
                    }
                    guard isConfirmed else {
                        let fate = archive.rules == nil ? "and is gone then" : "and goes to the archive"
                        throw ControlError(
                            .confirmationNeeded,
                            "\(shown) is there, with \(present.size) bytes; it is replaced by what was archived at "
                                + "\(version.archivedText(archive)), \(fate). Go on?", path: path.text)
                    }
                }
                guard freeBytes > floor, freeBytes - floor > UInt64(clamping: version.status.size) else {
                    throw ControlError(
                        .noSpace, "the disk has too little free for \(shown); free some space", path: path.text)
                }
                return try Self.restore(version, to: path, over: present, from: archive, now: now)
            }
            _ = try await look(at: [path], isAsked: true)
            await note(.restored, [path.text])
            return RestoredVersion(
                version: ArchivedVersion(restored.version, of: folder, in: restored.archive),
                isReplacement: restored.isReplacement,
                replaced: restored.replaced.map { restored.archive.absolutePath($0) })
        }
    }

    private struct Restored: Sendable {
        var archive: VersionArchive
        var version: VersionArchive.Version
        var isReplacement: Bool
        var replaced: RelativePath?
    }

    /// Puts a copy of the version into the place; the archive keeps it until its rules let it go.
    private static func restore(
        _ version: VersionArchive.Version, to path: RelativePath, over present: FileAccess.FileStatus?,
        from archive: VersionArchive, now: Int64
    ) throws -> Restored {
        let root = archive.folder
        if let parent = path.parent { try root.createDirectories(parent) }
        let staged = try archive.root.stageCopy(of: version.path, for: path, in: root, expecting: version.status)
        // What would be in the staged file alone is lost if the process dies: so nothing gives way in the archive.
        let kept = try VersionArchive?.some(archive).replacing(
            path, present, by: staged, permissions: version.status.permissions & 0o777,
            modified: version.status.modified, isTagged: true)
        return Restored(archive: archive, version: version, isReplacement: present != nil, replaced: kept)
    }

    func onDisk<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await environment.fetching.threads.runIfActive(body)
    }
}

extension [VersionArchive.Version] {
    /// What was in the place at a time, which is the first that was archived then or later; the last of all for nil.
    /// `self` is in the order in which they were archived.
    fileprivate func version(at time: Int64?) -> VersionArchive.Version? {
        guard let time else { return last }
        return first { $0.archived >= time }
    }
}

extension VersionArchive.Version {
    fileprivate func archivedText(_ archive: VersionArchive) -> String {
        ConflictTime(unixSeconds: archived, utcOffset: archive.utcOffset(archived)).description
    }
}

extension VersionArchive {
    func absolutePath(_ path: RelativePath) -> String { root.path + "/" + path.text }
}

extension ArchivedVersion {
    init(_ version: VersionArchive.Version, of folder: FolderID, in archive: VersionArchive) {
        let modified = version.status.modified
        self.init(
            folder: folder.rawValue, path: version.name, archived: WallTime(seconds: version.archived).rfc3339,
            size: version.status.size,
            modified: WallTime(seconds: modified.seconds, nanoseconds: modified.nanoseconds).rfc3339,
            file: archive.absolutePath(version.path))
    }
}
