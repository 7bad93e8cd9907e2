import AgentConfiguration
import BlockExchange
import FileAccess
import Reconciliation

/// Keeping what is replaced and deleted.
extension FolderEngine {
    /// The folder's archive; nil if it keeps nothing, or, unless it is to be made, has none yet.
    func archive(in root: RootDirectory, isCreating: Bool = true) throws -> VersionArchive? {
        let settings = session.configuration.versions
        if isCreating, settings.kind == .none { return nil }
        return try VersionArchive.open(
            of: root, settings, isCreating: isCreating, now: environment.time.wall().seconds,
            utcOffset: environment.utcOffset)
    }

    /// Takes a user's file or symbolic link away from its place on purpose, into the archive if the folder has one;
    /// nothing but a file goes there. Gives where in the archive it is, nil if it is gone.
    ///
    /// Blocks its thread. To be called within a turn; the caller looks at the name afterwards. With deferred durability the
    /// caller calls `synchronizeFileSystem`. Throws `changedOnDisk` if what is there is not what was `expected`.
    @discardableResult
    func archiveOrRemove(
        _ path: RelativePath, expecting expected: FileAccess.FileStatus, in root: RootDirectory,
        durability: Durability = .immediate
    ) throws -> RelativePath? {
        guard expected.type == .regular, let archive = try archive(in: root) else {
            try root.remove(path, expecting: expected, durability: durability)
            return nil
        }
        let archived = try archive.take(path, expecting: expected, durability: durability)
        try archive.expire([path])
        return archived
    }

    /// Lets versions go that the folder's rules do not keep any more. Throws `FolderHalt` or what the disk says. Not to be
    /// called within a turn.
    func cleanVersions() async throws {
        try await turn.withUnits(1) {
            let root = try await self.currentPlace().root
            try await self.environment.fetching.threads.runIfActive {
                guard self.session.configuration.versions.kind != .none,
                    let archive = try self.archive(in: root, isCreating: false)
                else { return }
                try archive.clean()
            }
        }
    }

    /// The longest time from the agent's start to the first look for versions that are to go.
    private static let firstCleaning = 60

    /// Cleans the archive at the intervals that the settings say, until cancelled.
    func cleanVersionsOnSchedule() async {
        let settings = session.configuration.versions
        guard settings.kind != .none, settings.cleanInterval > 0 else { return await Signal().wait() }
        var pause = min(settings.cleanInterval, Self.firstCleaning)
        while (try? await environment.time.clock.sleep(for: .seconds(pause))) != nil {
            do {
                try await cleanVersions()
            } catch is CancellationError {
                break
            } catch {
                logger.warning("old versions are not let go: \(error)")
            }
            pause = settings.cleanInterval
        }
    }
}
