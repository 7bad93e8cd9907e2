import Cryptography

/// Which folders the sender shares with the receiver, and how far it knows their indexes (BEP v1, ClusterConfig).
public struct ClusterConfig: Equatable, Sendable {
    public struct Folder: Equatable, Sendable {
        public var id: FolderID
        public var label: String
        /// Field 3: Syncthing 2's folder type, read only. In Syncthing 1 it said whether the folder only sends.
        public var type: Int32
        /// Field 6: the sender takes no DownloadProgress, and has none of its own. Syncthing 1 only.
        public var disablesTemporaryIndexes: Bool
        /// Field 7: nonzero when the folder is stopped (paused) there.
        public var stopReason: Int32
        /// Field 1000, synctrain's own: how much of the folder the sender keeps; nil if it does not say.
        public var mode: FolderMode?
        /// Field 1001, synctrain's own: the sender takes keep requests for this folder.
        public var takesKeepRequests: Bool
        /// Field 1002, synctrain's own: the sender refuses changes that the receiver announces in this folder.
        public var refusesChanges: Bool
        /// Field 1003, synctrain's own: the sender takes rename requests for this folder.
        public var takesRenameRequests: Bool
        public var devices: [Device]

        public init(
            id: FolderID, label: String = "", type: Int32 = 0, disablesTemporaryIndexes: Bool = false,
            stopReason: Int32 = 0, mode: FolderMode? = nil, takesKeepRequests: Bool = false,
            refusesChanges: Bool = false, takesRenameRequests: Bool = false, devices: [Device] = []
        ) {
            self.id = id
            self.label = label
            self.type = type
            self.disablesTemporaryIndexes = disablesTemporaryIndexes
            self.stopReason = stopReason
            self.mode = mode
            self.takesKeepRequests = takesKeepRequests
            self.refusesChanges = refusesChanges
            self.takesRenameRequests = takesRenameRequests
            self.devices = devices
        }
    }

    public struct Device: Equatable, Sendable {
        public var id: DeviceID
        public var name: String
        public var addresses: [String]
        public var compression: CompressionPolicy
        public var certificateName: String
        /// Of the index named by `indexID`: the highest sequence that the sender has (of its own: gives).
        public var maxSequence: Int64
        public var isIntroducer: Bool
        public var indexID: IndexID
        public var skipsIntroductionRemovals: Bool
        /// Not empty: the folder is encrypted towards that device.
        public var encryptionPasswordToken: [UInt8]

        public init(
            id: DeviceID, name: String = "", addresses: [String] = [], compression: CompressionPolicy = .metadata,
            certificateName: String = "", maxSequence: Int64 = 0, isIntroducer: Bool = false,
            indexID: IndexID = .none, skipsIntroductionRemovals: Bool = false, encryptionPasswordToken: [UInt8] = []
        ) {
            self.id = id
            self.name = name
            self.addresses = addresses
            self.compression = compression
            self.certificateName = certificateName
            self.maxSequence = maxSequence
            self.isIntroducer = isIntroducer
            self.indexID = indexID
            self.skipsIntroductionRemovals = skipsIntroductionRemovals
            self.encryptionPasswordToken = encryptionPasswordToken
        }
    }

    public var folders: [Folder]
    /// This link only carries requests and responses; another one carries the index.
    public var isSecondary: Bool
    /// Field 1000, synctrain's own: the sender takes reach requests.
    public var takesReachTests: Bool

    public init(folders: [Folder] = [], isSecondary: Bool = false, takesReachTests: Bool = false) {
        self.folders = folders
        self.isSecondary = isSecondary
        self.takesReachTests = takesReachTests
    }

    init(decoding reader: inout WireReader, limits: ExchangeLimits) throws(ProtocolError) {
        self.init()
        var deviceCount = 0
        var folderIDs: Set<FolderID> = []
        while let tag = try reader.tag() {
            switch tag.field {
            case 1:
                try reader.expect(tag, .bytes)
                guard folders.count < limits.foldersPerClusterConfig else {
                    throw ProtocolError(
                        .tooMany, "a cluster config has more than \(limits.foldersPerClusterConfig) folders")
                }
                var nested = WireReader(try reader.borrowed())
                let folder = try Folder(decoding: &nested, limits: limits, deviceCount: &deviceCount)
                guard folderIDs.insert(folder.id).inserted else {
                    throw ProtocolError(.malformed, "a cluster config names a folder twice")
                }
                folders.append(folder)
            case 2:
                try reader.expect(tag, .varint)
                isSecondary = try reader.bool()
            case 1000:
                try reader.expect(tag, .varint)
                takesReachTests = try reader.bool()
            default: try reader.skip(tag.type)
            }
        }
    }

    func encode(into writer: inout WireWriter) {
        for folder in folders { writer.message(1) { folder.encode(into: &$0) } }
        writer.field(2, flag: isSecondary)
        writer.field(1000, flag: takesReachTests)
    }
}

extension ClusterConfig.Folder {
    /// Whether the sender has a folder for encrypted data (`FolderType`: 0 sends and receives, 1 only sends, 2 only receives).
    var isReceiveEncrypted: Bool { type == 3 }

    init(decoding reader: inout WireReader, limits: ExchangeLimits, deviceCount: inout Int) throws(ProtocolError) {
        self.init(id: FolderID(""))
        var deviceIDs: Set<DeviceID> = []
        while let tag = try reader.tag() {
            switch tag.field {
            case 1:
                try reader.expect(tag, .bytes)
                id = FolderID(try reader.text(atMost: limits.folderIDByteCount, "a folder id"))
            case 2:
                try reader.expect(tag, .bytes)
                label = try reader.text(atMost: limits.textByteCount, "a folder label")
            case 3:
                try reader.expect(tag, .varint)
                type = try reader.int32()
            case 6:
                try reader.expect(tag, .varint)
                disablesTemporaryIndexes = try reader.bool()
            case 7:
                try reader.expect(tag, .varint)
                stopReason = try reader.int32()
            case 1000:
                try reader.expect(tag, .varint)
                mode = FolderMode(rawValue: try reader.int32())
            case 1001:
                try reader.expect(tag, .varint)
                takesKeepRequests = try reader.bool()
            case 1002:
                try reader.expect(tag, .varint)
                refusesChanges = try reader.bool()
            case 1003:
                try reader.expect(tag, .varint)
                takesRenameRequests = try reader.bool()
            case 16:
                try reader.expect(tag, .bytes)
                deviceCount += 1
                guard deviceCount <= limits.devicesPerClusterConfig else {
                    throw ProtocolError(
                        .tooMany, "a cluster config has more than \(limits.devicesPerClusterConfig) devices")
                }
                var nested = WireReader(try reader.borrowed())
                let device = try ClusterConfig.Device(decoding: &nested, limits: limits)
                guard deviceIDs.insert(device.id).inserted else {
                    throw ProtocolError(.malformed, "a cluster config names a device twice for a folder")
                }
                devices.append(device)
            default: try reader.skip(tag.type)
            }
        }
        guard !id.rawValue.isEmpty else {
            throw ProtocolError(.malformed, "a cluster config has a folder without an id")
        }
    }

    func encode(into writer: inout WireWriter) {
        writer.field(1, text: id.rawValue)
        writer.field(2, text: label)
        writer.field(3, signed: Int64(type))
        writer.field(6, flag: disablesTemporaryIndexes)
        writer.field(7, signed: Int64(stopReason))
        for device in devices { writer.message(16) { device.encode(into: &$0) } }
        if let mode { writer.field(1000, signed: Int64(mode.rawValue)) }
        writer.field(1001, flag: takesKeepRequests)
        writer.field(1002, flag: refusesChanges)
        writer.field(1003, flag: takesRenameRequests)
    }
}

extension ClusterConfig.Device {
    init(decoding reader: inout WireReader, limits: ExchangeLimits) throws(ProtocolError) {
        var start = reader
        var digest: SHA256Digest?
        while let tag = try start.tag() {
            if tag.field == 1, tag.type == .bytes {
                digest = try start.digest("a device id")
            } else {
                try start.skip(tag.type)
            }
        }
        guard let digest else { throw ProtocolError(.malformed, "a cluster config has a device without an id") }
        self.init(id: DeviceID(digest: digest))
        while let tag = try reader.tag() {
            switch tag.field {
            case 1:
                try reader.expect(tag, .bytes)
                try reader.skip(tag.type)
            case 2:
                try reader.expect(tag, .bytes)
                name = try reader.text(atMost: limits.textByteCount, "a device name")
            case 3:
                try reader.expect(tag, .bytes)
                let address = try reader.text(atMost: limits.textByteCount, "a device address")
                if addresses.count < limits.addressesPerDevice { addresses.append(address) }
            case 4:
                try reader.expect(tag, .varint)
                compression = CompressionPolicy(rawValue: try reader.int32()) ?? .metadata
            case 5:
                try reader.expect(tag, .bytes)
                certificateName = try reader.text(atMost: limits.textByteCount, "a certificate name")
            case 6:
                try reader.expect(tag, .varint)
                // Less than nothing is nothing: the index is sent whole.
                maxSequence = max(0, try reader.int64())
            case 7:
                try reader.expect(tag, .varint)
                isIntroducer = try reader.bool()
            case 8:
                try reader.expect(tag, .varint)
                indexID = IndexID(rawValue: try reader.varint())
            case 9:
                try reader.expect(tag, .varint)
                skipsIntroductionRemovals = try reader.bool()
            case 10:
                try reader.expect(tag, .bytes)
                encryptionPasswordToken = try reader.bytes(atMost: limits.textByteCount, "a password token")
            default: try reader.skip(tag.type)
            }
        }
    }

    func encode(into writer: inout WireWriter) {
        writer.field(1, digest: id.digest)
        writer.field(2, text: name)
        for address in addresses { writer.field(3, text: address) }
        writer.field(4, signed: Int64(compression.rawValue))
        writer.field(5, text: certificateName)
        writer.field(6, signed: maxSequence)
        writer.field(7, flag: isIntroducer)
        writer.field(8, unsigned: indexID.rawValue)
        writer.field(9, flag: skipsIntroductionRemovals)
        writer.field(10, bytes: encryptionPasswordToken)
    }
}

/// How much of a folder a synctrain device keeps.
public enum FolderMode: Int32, Sendable {
    /// Everything.
    case full = 1
    /// What its user has selected.
    case selective = 2
}

/// What a device compresses of what it sends.
public enum CompressionPolicy: Int32, Sendable {
    /// All but responses.
    case metadata = 0
    case never = 1
    case always = 2
}
