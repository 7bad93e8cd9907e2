/// What is known of the machine, of this device's files and of its configuration, with or without a running agent.
package struct MachineFacts: Equatable, Sendable {
    /// A file or directory of this device's own.
    package struct File: Equatable, Sendable {
        package enum Kind: Equatable, Sendable, CaseIterable {
            /// A directory.
            case state
            case certificate, privateKey, linkKey, password, pageCertificate, index, controlSocket, configuration
        }

        package var kind: Kind
        /// Absolute.
        package var path: String
        /// The permission bits; nil if there is no such file.
        package var mode: UInt32?
        package var isOwn: Bool
        /// Bytes.
        package var size: Int64

        package init(_ kind: Kind, path: String, mode: UInt32?, isOwn: Bool = true, size: Int64 = 0) {
            self.kind = kind
            self.path = path
            self.mode = mode
            self.isOwn = isOwn
            self.size = size
        }
    }

    package enum Configuration: Equatable, Sendable {
        case valid(folders: Int, devices: Int)
        case missing
        /// With the file and line, and what to write.
        case broken(String)
    }

    /// A disk that something of this device is on.
    package struct Disk: Equatable, Sendable {
        /// The folder's id; nil for the disk of the index.
        package var folder: String?
        package var path: String
        /// Bytes for this user and in all; nil if nobody can say.
        package var available: Int64?
        package var total: Int64?
        /// Bytes that stay free.
        package var floor: Int64
        /// Why the directory cannot be read, as the system says it; nil if it can.
        package var failure: String?

        package init(
            folder: String?, path: String, available: Int64?, total: Int64?, floor: Int64, failure: String? = nil
        ) {
            self.folder = folder
            self.path = path
            self.available = available
            self.total = total
            self.floor = floor
            self.failure = failure
        }
    }

    package struct Inotify: Equatable, Sendable {
        /// Directories and processes that this user may watch with.
        package var watches: Int64
        package var instances: Int64

        package init(watches: Int64, instances: Int64) {
            self.watches = watches
            self.instances = instances
        }
    }

    package struct Mounts: Equatable, Sendable {
        package var hasDevice: Bool
        /// `fusermount3`.
        package var hasHelper: Bool
        /// The program beside this one that mounts.
        package var hasProgram: Bool

        package init(hasDevice: Bool, hasHelper: Bool, hasProgram: Bool) {
            self.hasDevice = hasDevice
            self.hasHelper = hasHelper
            self.hasProgram = hasProgram
        }
    }

    /// How the agent is started by systemd: the user's, or the system's where the account is that of the system unit.
    package struct Service: Equatable, Sendable {
        package var isInstalled: Bool
        package var isEnabled: Bool
        /// The user's services run while nobody is logged in.
        package var isLingering: Bool
        /// The system's systemd starts it, which needs no login.
        package var isOfSystem: Bool

        package init(isInstalled: Bool, isEnabled: Bool, isLingering: Bool, isOfSystem: Bool = false) {
            self.isInstalled = isInstalled
            self.isEnabled = isEnabled
            self.isLingering = isLingering
            self.isOfSystem = isOfSystem
        }
    }

    /// A program that thumbnails need.
    package struct Helper: Equatable, Sendable {
        package var path: String
        /// The Debian package that has it.
        package var package: String
        package var isThere: Bool

        package init(path: String, package: String, isThere: Bool) {
            self.path = path
            self.package = package
            self.isThere = isThere
        }
    }

    /// How this program is called in commands: `synctrain`, or with its `--home`.
    package var program: String
    /// Whether the agent itself looked.
    package var isAgent: Bool
    package var files: [File]
    package var configuration: Configuration
    package var disks: [Disk]
    /// Nil if /proc does not say.
    package var inotify: Inotify?
    package var mounts: Mounts?
    /// Files that the agent may have open at once; nil if nobody can say.
    package var openFileLimit: UInt64?
    /// Nil without systemd.
    package var service: Service?
    /// Whether the kernel counts its clock as synchronised; nil if it does not say.
    package var isClockSynchronised: Bool?
    /// Empty where thumbnails are off.
    package var helpers: [Helper]

    package init(
        program: String, isAgent: Bool = false, files: [File] = [], configuration: Configuration, disks: [Disk] = [],
        inotify: Inotify? = nil, mounts: Mounts? = nil, openFileLimit: UInt64? = nil, service: Service? = nil,
        isClockSynchronised: Bool? = nil, helpers: [Helper] = []
    ) {
        self.program = program
        self.isAgent = isAgent
        self.files = files
        self.configuration = configuration
        self.disks = disks
        self.inotify = inotify
        self.mounts = mounts
        self.openFileLimit = openFileLimit
        self.service = service
        self.isClockSynchronised = isClockSynchronised
        self.helpers = helpers
    }
}
