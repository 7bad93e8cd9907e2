/// A file that is being fetched, as `status` shows it.
public struct TransferStatus: Codable, Equatable, Sendable {
    public var folder: String
    public var path: String
    public var bytesDone: Int64
    public var bytesTotal: Int64
    /// Ids of the devices that blocks are being asked of.
    public var holders: [String]
    /// Over the last few seconds; nil while nothing has come.
    public var bytesPerSecond: Int64?
    /// Until it is done, at this rate; nil if nobody can say.
    public var secondsLeft: Int64?

    public init(
        folder: String, path: String, bytesDone: Int64, bytesTotal: Int64, holders: [String],
        bytesPerSecond: Int64? = nil, secondsLeft: Int64? = nil
    ) {
        self.folder = folder
        self.path = path
        self.bytesDone = bytesDone
        self.bytesTotal = bytesTotal
        self.holders = holders
        self.bytesPerSecond = bytesPerSecond
        self.secondsLeft = secondsLeft
    }
}

/// What moves now, a row for each file and device.
public struct TransferList: Codable, Equatable, Sendable {
    /// How many rows an answer has at most.
    public static let limit = 500

    public var schema = 1
    public var transfers: [TransferEntry]
    /// How many rows there are.
    public var total: Int

    public init(transfers: [TransferEntry], total: Int) {
        self.transfers = transfers
        self.total = total
    }
}

/// A file on its way from or to one device.
public struct TransferEntry: Codable, Equatable, Sendable {
    public enum Direction: String, Codable, Sendable, CaseIterable { case incoming = "in", outgoing = "out" }

    public var folder: String
    /// Relative to the folder's root.
    public var path: String
    /// The device's id; nil for a file of which nothing has come yet.
    public var device: String?
    /// `tcp`, `l2cap`, `gatt` or `virtual`; nil while the device is not connected.
    public var transport: String?
    public var direction: Direction
    /// Bytes that came from this device, or went to it.
    public var bytesDone: Int64
    /// Of what comes: bytes of the file that are done, with those that others sent and those that were here before.
    public var fileBytesDone: Int64?
    /// Bytes of the file, or of the part that is read.
    public var size: Int64
    /// From or to this device, over the last few seconds.
    public var bytesPerSecond: Int64
    /// Until the whole file is done, with what all devices do; nil if nobody can say.
    public var secondsLeft: Int64?

    public init(
        folder: String, path: String, device: String? = nil, transport: String? = nil, direction: Direction,
        bytesDone: Int64, fileBytesDone: Int64? = nil, size: Int64, bytesPerSecond: Int64 = 0, secondsLeft: Int64? = nil
    ) {
        self.folder = folder
        self.path = path
        self.device = device
        self.transport = transport
        self.direction = direction
        self.bytesDone = bytesDone
        self.fileBytesDone = fileBytesDone
        self.size = size
        self.bytesPerSecond = bytesPerSecond
        self.secondsLeft = secondsLeft
    }
}
