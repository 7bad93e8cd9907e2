import ControlAPI

/// What a running agent knows of itself, its folders and its devices.
package struct AgentFacts: Sendable {
    package enum Database: Equatable, Sendable {
        /// No damage was found. `isWhole` is false if the time did not suffice for all of it.
        case sound(bytes: Int64, schema: String, isWhole: Bool)
        /// What SQLite says of it.
        case damaged(String)
        /// Why it could not be checked, with what to do.
        case unreadable(String)
    }

    /// How much the clock of a device is ahead of this one's.
    package struct Skew: Equatable, Sendable {
        package var device: String
        package var seconds: Int64

        package init(device: String, seconds: Int64) {
            self.device = device
            self.seconds = seconds
        }
    }

    /// How this program is called in commands: `synctrain`, or with its `--home`.
    package var program: String
    package var status: AgentStatus
    package var reach: ReachReport
    package var pending: PendingList
    package var database: Database
    /// Of the devices that have told the time.
    package var skews: [Skew]
    package var inotify: MachineFacts.Inotify?
    /// Why the programs that make thumbnails cannot be used, with what to do; also part of the status's problems.
    package var thumbnailProblems: [String]

    package init(
        program: String, status: AgentStatus, reach: ReachReport, pending: PendingList, database: Database,
        skews: [Skew] = [], inotify: MachineFacts.Inotify? = nil, thumbnailProblems: [String] = []
    ) {
        self.program = program
        self.status = status
        self.reach = reach
        self.pending = pending
        self.database = database
        self.skews = skews
        self.inotify = inotify
        self.thumbnailProblems = thumbnailProblems
    }

    package var findings: [DoctorFinding] {
        aboutDatabase + aboutClock + aboutNetwork + aboutDevices + aboutPending + aboutFolders + aboutWatching
            + aboutBluetooth + aboutThumbnails + aboutMounts
    }

    /// The name of a device as people know it.
    func name(_ id: String) -> String {
        guard let device = status.devices.first(where: { $0.id == id }), !device.name.isEmpty else {
            return id.split(separator: "-").first.map(String.init) ?? id
        }
        return device.name
    }
}
