import Cryptography

/// Which folders the sender shares with the receiver, and how far it knows their indexes (BEP v1, ClusterConfig).
public struct ClusterConfig: Equatable, Sendable {
    public struct Folder: Equatable, Sendable {
        public var id: FolderID
        public var label: String
        /// Field 3: Syncthing 2's folder type; read only, informational.
        public var type: Int32
        /// Field 7: nonzero when the folder is stopped (paused) there.
        public var stopReason: Int32
        public var devices: [Device]

        public init(id: FolderID, label: String = "", type: Int32 = 0, stopReason: Int32 = 0, devices: [Device] = []) {
            self.id = id
            self.label = label
            self.type = type
            self.stopReason = stopReason
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

    public init(folders: [Folder] = [], isSecondary: Bool = false) {
        self.folders = folders
        self.isSecondary = isSecondary
    }

    init(decoding reader: inout WireReader, limits: ExchangeLimits) throws(ProtocolError) {
        self.init()
        var deviceCount = 0
        while let tag = try reader.tag() {
            switch tag.field {
            case 1:
                try reader.expect(tag, .bytes)
                guard folders.count < limits.foldersPerClusterConfig else {
                    throw ProtocolError(
                        .tooMany, "a cluster config has more than \(limits.foldersPerClusterConfig) folders")
                }
                var nested = WireReader(try reader.borrowed())
                folders.append(try Folder(decoding: &nested, limits: limits, deviceCount: &deviceCount))
            case 2:
                try reader.expect(tag, .varint)
                isSecondary = try reader.bool()
            default: try reader.skip(tag.type)
            }
        }
    }

    func encoded() -> [UInt8] {
        var writer = WireWriter()
        for folder in folders { writer.field(1, message: folder.encoded()) }
        writer.field(2, flag: isSecondary)
        return writer.bytes
    }
}

extension ClusterConfig.Folder {
    init(decoding reader: inout WireReader, limits: ExchangeLimits, deviceCount: inout Int) throws(ProtocolError) {
        self.init(id: FolderID(""))
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
            case 7:
                try reader.expect(tag, .varint)
                stopReason = try reader.int32()
            case 16:
                try reader.expect(tag, .bytes)
                deviceCount += 1
                guard deviceCount <= limits.devicesPerClusterConfig else {
                    throw ProtocolError(
                        .tooMany, "a cluster config has more than \(limits.devicesPerClusterConfig) devices")
                }
                var nested = WireReader(try reader.borrowed())
                devices.append(try ClusterConfig.Device(decoding: &nested, limits: limits))
            default: try reader.skip(tag.type)
            }
        }
    }

    func encoded() -> [UInt8] {
        var writer = WireWriter()
        writer.field(1, text: id.rawValue)
        writer.field(2, text: label)
        writer.field(3, signed: Int64(type))
        writer.field(7, signed: Int64(stopReason))
        for device in devices { writer.field(16, message: device.encoded()) }
        return writer.bytes
    }
}

extension ClusterConfig.Device {
    init(decoding reader: inout WireReader, limits: ExchangeLimits) throws(ProtocolError) {
        var digest: SHA256Digest?
        self.init(id: DeviceID(digest: SHA256.digest([])))
        while let tag = try reader.tag() {
            switch tag.field {
            case 1:
                try reader.expect(tag, .bytes)
                digest = try reader.digest("a device id")
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
                maxSequence = try reader.int64()
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
        guard let digest else { throw ProtocolError(.malformed, "a cluster config has a device without an id") }
        id = DeviceID(digest: digest)
    }

    func encoded() -> [UInt8] {
        var writer = WireWriter()
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
        return writer.bytes
    }
}

/// What a device compresses of what it sends.
public enum CompressionPolicy: Int32, Sendable {
    /// All but responses.
    case metadata = 0
    case never = 1
    case always = 2
}
