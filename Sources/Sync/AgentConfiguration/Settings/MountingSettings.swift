import Phrases

/// What holds for all mounts of this agent's folders.
package struct MountingSettings: Equatable, Sendable {
    static let patiences = 5...600
    private static let scannerLimit = 200

    /// Seconds that a program which reads waits for the next block of what is not here.
    package var patience: Int
    /// Bytes that one program may have downloaded by reading within ten minutes; 0 for any number.
    package var readBudget: Int64
    /// Programs that get nothing that is not here, by their names in /proc, beside those that are known; `!name` does get it.
    package var scanners: [String]
    /// Bytes that may come from other devices for one thumbnail that a file manager wants; 0 for no thumbnails.
    package var thumbnailLimit: Int64

    package init(
        patience: Int = 20, readBudget: Int64 = 0, scanners: [String] = [], thumbnailLimit: Int64 = 256 << 10
    ) {
        (self.patience, self.readBudget, self.scanners) = (patience, readBudget, scanners)
        self.thumbnailLimit = thumbnailLimit
    }

    /// The first rule that is broken, and the key.
    func problem() -> (key: String, problem: SettingProblem)? {
        guard Self.patiences.contains(patience) else {
            return (
                "patience",
                SettingProblem(
                    .invalidValue,
                    "`patience` must be from \(Self.patiences.lowerBound) to \(Self.patiences.upperBound) seconds")
            )
        }
        guard scanners.count <= Self.scannerLimit else {
            return (
                "scanners",
                SettingProblem(.invalidValue, "at most \(Self.scannerLimit) programs can be listed; remove some")
            )
        }
        for name in scanners
        where name.isEmpty || name == "!" || name.utf8.count > 64 || name.contains("/")
            || name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        {
            return (
                "scanners",
                SettingProblem(
                    .invalidValue,
                    "`\(name.prefix(80))` is not the name of a program; write it as `ps -e` shows it, without a path, with "
                        + "`!` before it for a program that may download")
            )
        }
        return nil
    }
}

/// Where a folder is mounted while the agent runs.
package struct FolderMount: Equatable, Sendable {
    /// Absolute and clean; nil: nowhere, unless somebody mounts it.
    package var directory: String?
    /// Programs cannot change anything in it.
    package var isReadOnly: Bool

    package init(directory: String? = nil, isReadOnly: Bool = false) {
        (self.directory, self.isReadOnly) = (directory, isReadOnly)
    }

    func problem(inFolderAt folder: String) -> (key: String, problem: SettingProblem)? {
        guard let directory else { return nil }
        do throws(SettingProblem) {
            let clean = try FolderPath.clean(directory)
            guard clean.utf8.elementsEqual(directory.utf8) else {
                return ("mount", SettingProblem(.invalidValue, "write the path as `\(clean)`"))
            }
        } catch {
            return ("mount", error)
        }
        return Self.clash(directory, with: folder)
    }

    /// Why a folder cannot be mounted beside one that is at `path`.
    static func clash(_ directory: String, with path: String) -> (key: String, problem: SettingProblem)? {
        guard FolderPath.isSameOrInside(directory, path) || FolderPath.isSameOrInside(path, directory) else {
            return nil
        }
        return (
            "mount",
            SettingProblem(
                .nestedFolder,
                "the mount \(directory) and the folder \(path) are nested; choose an empty directory outside of it")
        )
    }
}

extension SettingsTable {
    func mounting() throws(ConfigurationError) -> MountingSettings {
        try allow(["patience", "read-budget", "scanners", "thumbnail-limit"])
        var settings = MountingSettings()
        if let seconds = try int("patience") { settings.patience = seconds }
        if let budget = try byteCount("read-budget") { settings.readBudget = budget }
        if let scanners = try strings("scanners") { settings.scanners = scanners }
        if let limit = try byteCount("thumbnail-limit") { settings.thumbnailLimit = limit }
        return settings
    }

    /// - Parameter userHome: what `~` stands for.
    func folderMount(userHome: String?) throws(ConfigurationError) -> FolderMount {
        var mount = FolderMount()
        if let path = try string("mount"), !path.isEmpty {
            do throws(SettingProblem) {
                mount.directory = try FolderPath.clean(path, userHome: userHome)
            } catch {
                throw error.at(file, line: line("mount"))
            }
        }
        if let isReadOnly = try bool("mount-read-only") { mount.isReadOnly = isReadOnly }
        return mount
    }
}
