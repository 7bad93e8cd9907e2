import Phrases

/// Whether and how a folder keeps what other devices replace or delete in it; the words are Syncthing's.
package struct FolderVersions: Equatable, Sendable {
    package enum Kind: String, Sendable, CaseIterable {
        case none
        /// The last version of each file, under its own name.
        case trashcan
        /// The last few versions of each file.
        case simple
        /// Fewer versions the older they are.
        case staggered
    }

    package var kind: Kind
    /// Absolute and clean; nil: `.stversions` in the folder.
    package var path: String?
    /// Versions of each file that `simple` keeps.
    package var keep: Int
    /// Days after which `trashcan` and `simple` let a version go; 0 for never.
    package var cleanoutDays: Int
    /// Days after which `staggered` lets a version go; 0 for never.
    package var maximumAgeDays: Int
    /// Seconds between two looks for versions that are to go; 0 for none but those when a version comes.
    package var cleanInterval: Int

    package init(
        kind: Kind = .none, path: String? = nil, keep: Int = 5, cleanoutDays: Int = 0, maximumAgeDays: Int = 365,
        cleanInterval: Int = 3600
    ) {
        self.kind = kind
        self.path = path
        self.keep = keep
        self.cleanoutDays = cleanoutDays
        self.maximumAgeDays = maximumAgeDays
        self.cleanInterval = cleanInterval
    }

    func problem(inFolderAt folder: String) -> (key: String, problem: SettingProblem)? {
        if let path {
            do throws(SettingProblem) {
                let clean = try FolderPath.clean(path)
                guard clean.utf8.elementsEqual(path.utf8) else {
                    return ("versions-path", SettingProblem(.invalidValue, "write the path as `\(clean)`"))
                }
            } catch {
                return ("versions-path", error)
            }
            if FolderPath.isSameOrInside(path, folder) || FolderPath.isSameOrInside(folder, path) {
                return (
                    "versions-path",
                    SettingProblem(
                        .nestedFolder,
                        "the archive \(path) and the folder \(folder) are nested; choose a directory beside the "
                            + "folder, or omit `versions-path` for .stversions in the folder")
                )
            }
        }
        guard (1...10_000).contains(keep) else {
            return (
                "versions-keep",
                SettingProblem(.invalidValue, "the number of versions to keep must be between 1 and 10000")
            )
        }
        for (key, days) in [("versions-cleanout-days", cleanoutDays), ("versions-max-age-days", maximumAgeDays)]
        where !(0...36_500).contains(days) {
            return (
                key,
                SettingProblem(
                    .invalidValue, "the maximum age of versions must be at most 36500 days, or 0 for no limit")
            )
        }
        guard (0...31_536_000).contains(cleanInterval) else {
            return (
                "versions-clean-interval",
                SettingProblem(
                    .invalidValue,
                    "the interval between cleanups must be at most a year (31536000 seconds); 0 for none")
            )
        }
        return nil
    }
}
