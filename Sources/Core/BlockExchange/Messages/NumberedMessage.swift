/// A request of synctrain's own, or the answer to one: its id is in field 1, what it says in the fields behind.
protocol NumberedMessage {
    /// A message of which nothing was read yet: all is as proto3 has it where a field is left out.
    static var undecoded: Self { get }
    /// Bytes that the fields have about, to reserve.
    var reservedByteCount: Int { get }

    /// Reads the field of `tag`; false for a field that this version does not know, which is left unread.
    mutating func decode(
        _ tag: WireReader.Tag, _ reader: inout WireReader, limits: ExchangeLimits
    ) throws(ProtocolError) -> Bool
    /// Writes all fields but the id.
    func encode(into writer: inout WireWriter)
}

extension NumberedMessage {
    var reservedByteCount: Int { 0 }

    static func decode(
        _ reader: inout WireReader, limits: ExchangeLimits
    ) throws(ProtocolError) -> (id: Int32, message: Self) {
        var id: Int32 = 0
        var message = undecoded
        while let tag = try reader.tag() {
            if tag.field == 1 {
                id = try reader.int32(of: tag)
            } else if try !message.decode(tag, &reader, limits: limits) {
                try reader.skip(tag.type)
            }
        }
        return (id, message)
    }

    func encoded(id: Int32) -> [UInt8] {
        var writer = WireWriter(reserving: reservedByteCount)
        writer.field(1, signed: Int64(id))
        encode(into: &writer)
        return writer.bytes
    }
}

/// Values of fields, after a check of the wire type.
extension WireReader {
    mutating func bool(of tag: Tag) throws(ProtocolError) -> Bool {
        try expect(tag, .varint)
        return try bool()
    }

    mutating func int32(of tag: Tag) throws(ProtocolError) -> Int32 {
        try expect(tag, .varint)
        return try int32()
    }

    mutating func int64(of tag: Tag) throws(ProtocolError) -> Int64 {
        try expect(tag, .varint)
        return try int64()
    }

    mutating func text(of tag: Tag, atMost limit: Int, _ what: StaticString) throws(ProtocolError) -> String {
        try expect(tag, .bytes)
        return try text(atMost: limit, what)
    }

    mutating func message(of tag: Tag) throws(ProtocolError) -> WireReader {
        try expect(tag, .bytes)
        return WireReader(try borrowed())
    }
}
