/// The types of BEP messages (Header, field 1).
enum MessageType: Int32, Sendable {
    case clusterConfig = 0
    case index = 1
    case indexUpdate = 2
    case request = 3
    case response = 4
    case downloadProgress = 5
    case ping = 6
    case close = 7
    /// synctrain's own; see `KeepRequest`. Syncthing ends a link on them.
    case keepRequest = 1000
    case keepAnswer = 1001
    /// See `ReachRequest`.
    case reachRequest = 1002
    case reachAnswer = 1003
    /// See `RenameRequest`.
    case renameRequest = 1004
    case renameAnswer = 1005
}

/// What precedes every message.
struct MessageHeader: Equatable {
    /// Nil for a type this version of BEP does not know: such a message is skipped.
    var type: MessageType?
    var isCompressed: Bool

    init(type: MessageType?, isCompressed: Bool) {
        self.type = type
        self.isCompressed = isCompressed
    }

    init(decoding reader: inout WireReader) throws(ProtocolError) {
        self.init(type: .clusterConfig, isCompressed: false)
        while let tag = try reader.tag() {
            switch tag.field {
            case 1:
                try reader.expect(tag, .varint)
                type = MessageType(rawValue: try reader.int32())
            case 2:
                try reader.expect(tag, .varint)
                switch try reader.varint() {
                case 0: isCompressed = false
                case 1: isCompressed = true
                case let other:
                    throw ProtocolError(.invalidCompression, "a message has the unknown compression \(other)")
                }
            default: try reader.skip(tag.type)
            }
        }
    }

    func encoded() -> [UInt8] {
        var writer = WireWriter()
        writer.field(1, signed: Int64((type ?? .clusterConfig).rawValue))
        writer.field(2, flag: isCompressed)
        return writer.bytes
    }
}
