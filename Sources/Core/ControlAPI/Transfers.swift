/// A file that is being fetched, as `status` shows it.
package struct TransferStatus: Codable, Equatable, Sendable {
    package var folder: String
    package var path: String
    package var bytesDone: Int64
    package var bytesTotal: Int64
    /// Ids of the devices that blocks are being asked of.
    package var holders: [String]
    /// Over the last few seconds; nil while nothing has come.
    package var bytesPerSecond: Int64?
    /// Until it is done, at this rate; nil if nobody can say.
    package var secondsLeft: Int64?

    package init(
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
package struct TransferList: Codable, Equatable, Sendable {
    /// How many rows an answer has at most.
    package static let limit = 500

    package var schema = 1
    package var transfers: [TransferEntry]
    /// How many rows there are.
    package var total: Int

    package init(transfers: [TransferEntry], total: Int) {
        self.transfers = transfers
        self.total = total
    }
}

/// A file on its way from or to one device.
package struct TransferEntry: Codable, Equatable, Sendable {
    package enum Direction: String, Codable, Sendable, CaseIterable { case incoming = "in", outgoing = "out" }

    package var folder: String
    /// Relative to the folder's root.
    package var path: String
    /// The device's id; nil for a file of which nothing has come yet.
    package var device: String?
    /// `tcp`, `l2cap`, `gatt` or `virtual`; nil while the device is not connected.
    package var transport: String?
    package var direction: Direction
    /// Bytes that came from this device, or went to it.
    package var bytesDone: Int64
    /// Of what comes: bytes of the file that are done, with those that others sent and those that were here before.
    package var fileBytesDone: Int64?
    /// Bytes of the file, or of the part that is read.
    package var size: Int64
    /// From or to this device, over the last few seconds.
    package var bytesPerSecond: Int64
    /// Until the whole file is done, with what all devices do; nil if nobody can say.
    package var secondsLeft: Int64?

    package init(
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
