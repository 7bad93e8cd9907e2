import BlockExchange
import Phrases
import Selection

/// A folder that this device shares with others.
package struct FolderConfiguration: Equatable, Sendable {
    package enum Mode: String, Sendable, CaseIterable {
        /// Keeps what `.stignore` selects.
        case selective
        /// Keeps all that `.stignore` does not ignore.
        case full
    }

    package enum Kind: String, Sendable, CaseIterable {
        case sendReceive = "sendreceive"
        case sendOnly = "sendonly"
        case receiveOnly = "receiveonly"
    }

    /// Which of the needed files come first.
    package enum Order: String, Sendable, CaseIterable {
        case smallFirst = "small-first"
        /// The last changed first.
        case newest
        case alphabetic
    }

    /// What becomes of two files whose names are one to the disk.
    package enum CaseClash: String, Sendable, CaseIterable {
        /// The one that has the place keeps it, and the other is not downloaded.
        case keep
        /// The one whose name sorts later gets another name, on all devices.
        case rename
    }

    /// How many patterns `priority` may have.
    static let priorityLimit = 100

    package var id: FolderID
    /// What the user calls it; may be empty.
    package var label: String
    /// Absolute, without `.`, `..`, double or trailing slashes.
    package var path: String
    package var mode: Mode
    /// Written `type` in the file, as Syncthing does.
    package var kind: Kind
    package var devices: [DeviceID]
    /// Those of `devices` whose changes are refused here.
    package var readers: [DeviceID] = []
    /// Those of `devices` whose offers of further devices and folders are followed.
    package var admins: [DeviceID] = []
    /// Devices that keep the folder encrypted: they never get it unencrypted, also where it is shared with them later.
    package var untrusted: [DeviceID] = []
    /// Those of `devices` that an introducer shared the folder with, and may unshare it from again.
    package var introductions: [FolderIntroduction] = []
    package var isPaused: Bool
    /// When the pause ends by itself, in seconds since 1970; nil: only when told to.
    package var pausedUntil: Int64?
    /// Seconds from the end of a scan to the next; 0 for none but the one at start.
    package var rescanInterval: Int
    /// Whether changes on this disk are noticed as they happen.
    package var isWatched: Bool
    /// Permissions are neither sent nor set, for disks that have none.
    package var ignoresPermissions: Bool
    package var order: Order
    /// Patterns in the syntax of `.stignore`: files that the first one matches come first, then those of the second, then
    /// the rest, each by `order`.
    package var priority: [String]
    /// Patterns such as `album/*.{jpg,txt}`: files that belong together, whose new versions come into their places together.
    package var groups: [String]
    package var minimumFree: MinimumFree
    /// Copies of one file that conflicts may leave behind, the oldest go first; nil keeps them all.
    package var maxConflicts: Int?
    /// How many other devices must hold a file before it may go from this disk to free space; at least 1.
    package var minimumCopies: Int
    /// For how many days the word of a device that is away counts as a copy; 0 for not at all.
    package var copiesMaximumAgeDays: Int = defaultCopiesMaximumAgeDays
    /// How much of the disk is kept free by letting go what is selected while there is space; nil for none.
    package var keepFree: MinimumFree?
    package var bluetooth: BluetoothUse
    /// Files of more bytes wait for another link than Bluetooth, unless somebody asks for them; 0 for no limit.
    package var bluetoothLimit: Int64
    /// Whether its files and its index may go over relays.
    package var usesRelays = true
    /// Whether deletions of more than half of its files by other devices wait until somebody confirms them.
    package var guardsIncomingDeletions = true
    package var caseClash = CaseClash.keep

    /// Seconds from one check of the files on this disk for damage to the next; nil for none.
    package var scrubInterval: Int?

    /// What is kept of what other devices replace or delete.
    package var versions: FolderVersions
    package var conflicts: FolderConflicts
    package var attributes = FolderAttributes()
    package var mount = FolderMount()

    package static let defaultBluetoothLimit: Int64 = 10_000_000
    package static let defaultCopiesMaximumAgeDays = 30

    package init(
        id: FolderID, label: String = "", path: String, mode: Mode = .selective, kind: Kind = .sendReceive,
        devices: [DeviceID] = [], isPaused: Bool = false, rescanInterval: Int = 3600, isWatched: Bool = true,
        ignoresPermissions: Bool = false, order: Order = .smallFirst, priority: [String] = [],
        groups: [String] = [], minimumFree: MinimumFree = .basisPoints(100), maxConflicts: Int? = nil,
        minimumCopies: Int = 1,
        keepFree: MinimumFree? = nil, bluetooth: BluetoothUse = .all, bluetoothLimit: Int64 = defaultBluetoothLimit,
        versions: FolderVersions = FolderVersions(), conflicts: FolderConflicts = FolderConflicts(),
        pausedUntil: Int64? = nil, scrubInterval: Int? = nil
    ) {
        self.id = id
        self.label = label
        self.path = path
        self.mode = mode
        self.kind = kind
        self.devices = devices
        self.isPaused = isPaused
        self.pausedUntil = pausedUntil
        self.rescanInterval = rescanInterval
        self.isWatched = isWatched
        self.ignoresPermissions = ignoresPermissions
        self.order = order
        self.priority = priority
        self.groups = groups
        self.minimumFree = minimumFree
        self.maxConflicts = maxConflicts
        self.minimumCopies = minimumCopies
        self.keepFree = keepFree
        self.scrubInterval = scrubInterval
        self.bluetooth = bluetooth
        self.bluetoothLimit = bluetoothLimit
        self.versions = versions
        self.conflicts = conflicts
    }

    func problem() -> (key: String, problem: SettingProblem)? {
        if let problem = Self.problem(id: id) { return ("id", problem) }
        if let problem = Configuration.problem(name: label) { return ("label", problem) }
        do throws(SettingProblem) {
            let clean = try FolderPath.clean(path)
            guard clean.utf8.elementsEqual(path.utf8) else {
                return ("path", SettingProblem(.invalidValue, "write the path as `\(clean)`"))
            }
        } catch {
            return ("path", error)
        }
        guard (0...31_536_000).contains(rescanInterval) else {
            return (
                "rescan-interval",
                SettingProblem(
                    .invalidValue, "the interval between scans must be at most a year (31536000 seconds); 0 for none")
            )
        }
        if let problem = priorityProblem() { return ("priority", problem) }
        do throws(GroupPatternError) {
            _ = try GroupPatterns(groups)
        } catch {
            return ("groups", SettingProblem(.invalidValue, error.text))
        }
        if let found = versions.problem(inFolderAt: path) ?? conflicts.problem() ?? attributes.problem()
            ?? mount.problem(inFolderAt: path)
        {
            return found
        }
        if let maxConflicts, !(1...1000).contains(maxConflicts) {
            return (
                "max-conflicts",
                SettingProblem(
                    .invalidValue,
                    "the number of conflict copies to keep must be between 1 and 1000, or -1 for all; "
                        + "with none, the losing version of a conflict would be lost")
            )
        }
        guard (1...100).contains(minimumCopies) else {
            return (
                "min-copies",
                SettingProblem(
                    .invalidValue,
                    "the number of other devices that must have a file before it is freed here must be between 1 and 100"
                )
            )
        }
        guard (0...3650).contains(copiesMaximumAgeDays) else {
            return (
                "copies-max-age-days",
                SettingProblem(
                    .invalidValue,
                    "the age up to which the word of an absent device counts must be between 0 and 3650 days; 0 for never"
                )
            )
        }
        return nil
    }

    static func problem(id: FolderID) -> SettingProblem? {
        let id = id.rawValue
        guard !id.isEmpty, id.utf8.count <= 255, Configuration.isOneLine(id) else {
            return SettingProblem(.invalidValue, "a folder id has 1 to 255 bytes and no control characters; write one")
        }
        return nil
    }

    private func priorityProblem() -> SettingProblem? {
        guard priority.count <= Self.priorityLimit else {
            return SettingProblem(
                .invalidValue, "at most \(Self.priorityLimit) priority patterns are allowed; remove some")
        }
        for pattern in priority {
            let shown = pattern.prefix(80)
            guard pattern.utf8.count <= 1024, Configuration.isOneLine(pattern),
                !["!", "#", "//"].contains(where: pattern.hasPrefix)
            else {
                return SettingProblem(
                    .invalidValue,
                    "`\(shown)` is not a valid priority pattern; write one as in .stignore, for example `*.md` or "
                        + "`/notes`, without `!`, `#` or `//` before it")
            }
            do throws(IgnoreError) {
                let selection = try Selection(parsing: pattern)
                guard selection.patterns.count == 1 else {
                    return SettingProblem(.invalidValue, "a pattern in `priority` is empty; remove it")
                }
            } catch {
                return SettingProblem(.invalidValue, "`\(shown)` is not a valid pattern: \(error.text)")
            }
        }
        return nil
    }
}
