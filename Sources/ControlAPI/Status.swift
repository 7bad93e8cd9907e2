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
