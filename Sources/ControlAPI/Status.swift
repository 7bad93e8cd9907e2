/// The agent's state as `status` shows it.
public struct AgentStatus: Codable, Equatable, Sendable {
    public var schema = 1
    public var device: String
    public var name: String
    public var version: String
    /// RFC 3339.
    public var startedAt: String
    /// What is listened on, `tcp://host:port` each.
    public var listening: [String]
    public var folders: [FolderStatus]
    public var devices: [DeviceStatus]
    public var transfers: [TransferStatus]
    /// Sentences about what is wrong with the agent as a whole, each with its remedy.
    public var problems: [String]

    public init(
        device: String, name: String, version: String, startedAt: String, listening: [String],
        folders: [FolderStatus], devices: [DeviceStatus], transfers: [TransferStatus], problems: [String] = []
    ) {
        self.device = device
        self.name = name
        self.version = version
        self.startedAt = startedAt
        self.listening = listening
        self.folders = folders
        self.devices = devices
        self.transfers = transfers
        self.problems = problems
    }
}

public struct FolderStatus: Codable, Equatable, Sendable {
    public struct Totals: Codable, Equatable, Sendable {
        public var files: Int64
        public var directories: Int64
        public var bytes: Int64

        public init(files: Int64 = 0, directories: Int64 = 0, bytes: Int64 = 0) {
            self.files = files
            self.directories = directories
            self.bytes = bytes
        }
    }

    public var id: String
    public var label: String
    public var path: String
    public var mode: String
    public var type: String
    /// A word: `idle`, `receiving-index`, `fetching`, `paused`, `error`.
    public var state: String
    /// Says what is wrong and what to do, when `state` is `error`.
    public var message: String?
    /// Ids of the devices that share the folder.
    public var devices: [String]
    public var global: Totals
    public var local: Totals
    public var need: Totals
    public var extraneous: Int64
    public var conflicts: Int64
    public var errors: Int64

    public init(
        id: String, label: String, path: String, mode: String, type: String, state: String, message: String? = nil,
        devices: [String], global: Totals, local: Totals, need: Totals, extraneous: Int64 = 0, conflicts: Int64 = 0,
        errors: Int64 = 0
    ) {
        self.id = id
        self.label = label
        self.path = path
        self.mode = mode
        self.type = type
        self.state = state
        self.message = message
        self.devices = devices
        self.global = global
        self.local = local
        self.need = need
        self.extraneous = extraneous
        self.conflicts = conflicts
        self.errors = errors
    }
}

public struct DeviceStatus: Codable, Equatable, Sendable {
    public var id: String
    public var name: String
    public var isConnected: Bool
    /// `tcp` and so on, while connected.
    public var transport: String?
    /// Of the other end, while connected.
    public var address: String?
    /// What is dialled, as configured.
    public var addresses: [String]
    /// The peer's program and its version, once it said so.
    public var client: String?
    /// RFC 3339; nil if never.
    public var lastSeen: String?
    public var bytesIn: Int64
    public var bytesOut: Int64
    /// Why the last link ended or the last dial failed.
    public var lastError: String?

    public init(
        id: String, name: String, isConnected: Bool, transport: String? = nil, address: String? = nil,
        addresses: [String] = [], client: String? = nil, lastSeen: String? = nil, bytesIn: Int64 = 0,
        bytesOut: Int64 = 0, lastError: String? = nil
    ) {
        self.id = id
        self.name = name
        self.isConnected = isConnected
        self.transport = transport
        self.address = address
        self.addresses = addresses
        self.client = client
        self.lastSeen = lastSeen
        self.bytesIn = bytesIn
        self.bytesOut = bytesOut
        self.lastError = lastError
    }

    enum CodingKeys: String, CodingKey {
        case id, name, isConnected = "connected", transport, address, addresses, client, lastSeen, bytesIn, bytesOut
        case lastError
    }
}

public struct TransferStatus: Codable, Equatable, Sendable {
    public var folder: String
    public var path: String
    public var bytesDone: Int64
    public var bytesTotal: Int64
    /// Ids of the devices that blocks are being asked of.
    public var holders: [String]

    public init(folder: String, path: String, bytesDone: Int64, bytesTotal: Int64, holders: [String]) {
        self.folder = folder
        self.path = path
        self.bytesDone = bytesDone
        self.bytesTotal = bytesTotal
        self.holders = holders
    }
}
