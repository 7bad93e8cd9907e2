/// Whether and how a folder keeps what other devices replace or delete in it; the words are Syncthing's.
public struct FolderVersions: Equatable, Sendable {
    public enum Kind: String, Sendable, CaseIterable {
        case none
        /// The last version of each file, under its own name.
        case trashcan
        /// The last few versions of each file.
        case simple
        /// Fewer versions the older they are.
        case staggered
    }

    public var kind: Kind
    /// Absolute and clean; nil: `.stversions` in the folder.
    public var path: String?
    /// Versions of each file that `simple` keeps.
    public var keep: Int
    /// Days after which `trashcan` and `simple` let a version go; 0 for never.
    public var cleanoutDays: Int
    /// Days after which `staggered` lets a version go; 0 for never.
    public var maximumAgeDays: Int
    /// Seconds between two looks for versions that are to go; 0 for none but those when a version comes.
    public var cleanInterval: Int

    public init(
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
                        "the archive \(path) and the folder \(folder) lie one in the other; choose a directory beside the "
                            + "folder, or leave `versions-path` out for .stversions in it")
                )
            }
        }
        guard (1...10_000).contains(keep) else {
            return (
                "versions-keep",
                SettingProblem(.invalidValue, "write how many versions of a file are kept, from 1 to 10000")
            )
        }
        for (key, days) in [("versions-cleanout-days", cleanoutDays), ("versions-max-age-days", maximumAgeDays)]
        where !(0...36_500).contains(days) {
            return (
                key,
                SettingProblem(
                    .invalidValue, "write after how many days a version goes, at most 36500, or 0 for never")
            )
        }
        guard (0...31_536_000).contains(cleanInterval) else {
            return (
                "versions-clean-interval",
                SettingProblem(
                    .invalidValue,
                    "write the seconds between two looks for old versions, at most a year (31536000), 0 for none")
            )
        }
        return nil
    }
}
