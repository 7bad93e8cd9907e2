import BlockExchange
import FileAccess

/// How thumbnails are made and where they are kept.
package struct ThumbnailSettings: Equatable, Sendable {
    package var isEnabled: Bool
    /// A directory, absolute; nil for the usual one.
    package var cache: String?
    /// Bytes of thumbnails that the cache keeps; 0 for none.
    package var byteLimit: Int64
    /// Bytes that may be fetched for one.
    package var fetchLimit: Int64
    /// The same over a metered connection or a slow link.
    package var slowFetchLimit: Int64
    /// A folder whose devices share theirs.
    package var folder: FolderID?
    /// In that folder.
    package var directory: String

    package init(
        isEnabled: Bool = true, cache: String? = nil, byteLimit: Int64 = 256 << 20, fetchLimit: Int64 = 16 << 20,
        slowFetchLimit: Int64 = 256 << 10, folder: FolderID? = nil, directory: String = ".thumbnails"
    ) {
        self.isEnabled = isEnabled
        self.cache = cache
        self.byteLimit = byteLimit
        self.fetchLimit = fetchLimit
        self.slowFetchLimit = slowFetchLimit
        self.folder = folder
        self.directory = directory
    }

    /// The first rule that is broken, and the key.
    func problem() -> (key: String, problem: SettingProblem)? {
        guard let path = RelativePath(directory), !path.isInternal else {
            return (
                "directory",
                SettingProblem(
                    .invalidValue,
                    "`\(directory.prefix(80))` is not a directory in a folder; write it as `.thumbnails` or `a/b`")
            )
        }
        return nil
    }
}

extension SettingsTable {
    /// - Parameter userHome: what `~` stands for.
    func thumbnails(userHome: String?) throws(ConfigurationError) -> ThumbnailSettings {
        try allow(["enabled", "cache", "limit", "fetch-limit", "fetch-limit-slow", "folder", "directory"])
        var settings = ThumbnailSettings()
        if let isEnabled = try bool("enabled") { settings.isEnabled = isEnabled }
        if let path = try string("cache") {
            do throws(SettingProblem) {
                settings.cache = try FolderPath.clean(path, userHome: userHome)
            } catch {
                throw error.at(file, line: line("cache"))
            }
        }
        if let limit = try byteCount("limit") { settings.byteLimit = limit }
        if let limit = try byteCount("fetch-limit") { settings.fetchLimit = limit }
        if let limit = try byteCount("fetch-limit-slow") { settings.slowFetchLimit = limit }
        if let folder = try string("folder"), !folder.isEmpty { settings.folder = FolderID(folder) }
        if let directory = try string("directory") { settings.directory = directory }
        return settings
    }
}
