import Cryptography

extension FileInfo {
    /// Decodes and checks one entry against BEP's rules; `limits` bound its parts.
    init(decoding reader: inout WireReader, limits: ExchangeLimits) throws(ProtocolError) {
        self.init(undecoded: ())
        try decode(&reader, limits: limits)
    }

    /// An entry of which nothing was read yet: all is as proto3 has it where a field is left out.
    init(undecoded: Void) { self.init(name: "", permissions: 0) }

    /// Decodes and checks one entry in the place of this one, which is undecoded. An entry is large: its way into an
    /// array costs as much as its decoding.
    mutating func decode(_ reader: inout WireReader, limits: ExchangeLimits) throws(ProtocolError) {
        while true {
            let start = reader.offset
            guard let tag = try reader.tag() else { break }
            switch tag.field {
            case 1:
                try reader.expect(tag, .bytes)
                name = try Self.name(decoding: &reader, limits: limits)
            case 2:
                try reader.expect(tag, .varint)
                let value = try reader.int32()
                guard let kind = Kind(rawValue: value) else {
                    throw ProtocolError(.invalidEntry, "an index entry has the unknown type \(value)")
                }
                self.kind = kind
            case 3:
                try reader.expect(tag, .varint)
                size = try reader.int64()
            case 4:
                try reader.expect(tag, .varint)
                permissions = UInt32(truncatingIfNeeded: try reader.varint())
            case 5:
                try reader.expect(tag, .varint)
                modifiedSeconds = try reader.int64()
            case 6:
                try reader.expect(tag, .varint)
                isDeleted = try reader.bool()
            case 7:
                try reader.expect(tag, .varint)
                isInvalid = try reader.bool()
            case 8:
                try reader.expect(tag, .varint)
                hasNoPermissions = try reader.bool()
            case 9:
                try reader.expect(tag, .bytes)
                var nested = WireReader(try reader.borrowed())
                version = try VersionVector(decoding: &nested, limits: limits)
            case 10:
                try reader.expect(tag, .varint)
                sequence = try reader.int64()
            case 11:
                try reader.expect(tag, .varint)
                modifiedNanoseconds = try reader.int32()
            case 12:
                try reader.expect(tag, .varint)
                modifiedBy = ShortID(rawValue: try reader.varint())
            case 13:
                try reader.expect(tag, .varint)
                blockSize = try reader.int32()
            case 16:
                try reader.expect(tag, .bytes)
                guard blocks.count < limits.blocksPerFile else {
                    throw ProtocolError(.tooMany, "an index entry has more than \(limits.blocksPerFile) blocks")
                }
                var nested = WireReader(try reader.borrowed())
                blocks.append(try BlockInfo(decoding: &nested))
            case 17:
                try reader.expect(tag, .bytes)
                symlinkTarget = try reader.bytes(atMost: limits.symlinkTargetByteCount, "a symbolic link's target")
            case 18, Self.privateFields:
                // The blocks hash is computed below; the others are another device's private notes.
                try reader.skip(tag.type)
            default:
                try reader.skip(tag.type)
                // bounded: the reader's place is within its bytes
                try carry(UnsafeRawBufferPointer(rebasing: reader.bytes[start..<reader.offset]), limits: limits)
            }
        }
        try validate()
        blocksHash = Self.blocksHash(of: blocks)
    }

    /// Keeps a field that is not read, in wire form, for whoever gets the entry from this device.
    private mutating func carry(_ field: UnsafeRawBufferPointer, limits: ExchangeLimits) throws(ProtocolError) {
        guard carriedFields.count + field.count <= limits.carriedByteCount else {
            throw ProtocolError(
                .tooLarge, "an index entry carries more than \(limits.carriedByteCount) bytes of extras")
        }
        carriedFields += field
    }

    private static func name(decoding reader: inout WireReader, limits: ExchangeLimits) throws(ProtocolError) -> String
    {
        let bytes = try reader.borrowed()
        guard bytes.count <= limits.nameByteCount else {
            throw ProtocolError(.invalidEntry, "a name in an index has \(bytes.count) bytes")
        }
        if let reason = invalidName(bytes, limits: limits) {
            throw ProtocolError(.invalidEntry, "a name in an index \(reason)")
        }
        guard let name = String(validUTF8: bytes) else {
            throw ProtocolError(.invalidEntry, "a name in an index is not UTF-8")
        }
        return name
    }

    /// Why `name` is no canonical relative path; nil if it is one.
    static func invalidName(_ name: UnsafeRawBufferPointer, limits: ExchangeLimits) -> String? {
        guard !name.isEmpty else { return "is empty" }
        var start = 0
        var depth = 0
        for index in name.indices {
            let byte = name[index]
            // All letters and digits are above the slash.
            guard byte <= UInt8(ascii: "/") else { continue }
            if byte == 0 { return "holds a zero byte" }
            guard byte == UInt8(ascii: "/") else { continue }
            depth += 1
            if let reason = invalidComponent(name, start..<index, depth: depth, limits: limits) { return reason }
            start = index + 1
        }
        return invalidComponent(name, start..<name.count, depth: depth + 1, limits: limits)
    }

    private static func invalidComponent(
        _ name: UnsafeRawBufferPointer, _ part: Range<Int>, depth: Int, limits: ExchangeLimits
    ) -> String? {
        let dot = UInt8(ascii: ".")
        return switch part.count {
        case 0: "starts or ends with a slash or has two in a row"
        case 1 where name[part.lowerBound] == dot: "has the component \".\""
        case 2 where name[part.lowerBound] == dot && name[part.lowerBound + 1] == dot: "has the component \"..\""
        case let length where length > limits.componentByteCount: "has a component of \(length) bytes"
        default: depth > limits.pathDepth ? "is more than \(limits.pathDepth) levels deep" : nil
        }
    }

    private func refuse(_ reason: String) -> ProtocolError {
        ProtocolError(.invalidEntry, "index entry \(name.debugDescription): \(reason)")
    }

    /// BEP's rules for entries, which a peer must keep, and the layout of blocks that all code here relies on.
    private mutating func validate() throws(ProtocolError) {
        guard !name.isEmpty else { throw ProtocolError(.invalidEntry, "an index entry has no name") }
        guard (0..<1_000_000_000).contains(modifiedNanoseconds) else { throw refuse("impossible nanoseconds") }
        guard sequence >= 0 else { throw refuse("a negative sequence") }
        guard size >= 0 else { throw refuse("a negative size") }
        guard !kind.isSymlink || !symlinkTarget.contains(0) else { throw refuse("its target holds a zero byte") }
        let hasBlockSize = blockSize == 0 || BlockSize.isValid(Int(blockSize))
        guard kind == .file, !isDeleted, !isInvalid else {
            guard blocks.isEmpty || kind == .file && !isDeleted else {
                throw refuse(isDeleted ? "deleted, with blocks" : "not a file, with blocks")
            }
            guard kind == .file || isDeleted || size == 0 || kind == .directory && size == 128 else {
                throw refuse("not a file, with a size")
            }
            // Nobody is asked for an invalid entry's blocks; what they say is of no use.
            blocks = []
            size = 0
            if !hasBlockSize { blockSize = 0 }
            return
        }
        guard !blocks.isEmpty else { throw refuse("file with empty block list") }
        guard hasBlockSize else { throw refuse("block size \(blockSize)") }
        let wholeBlock = Int32(effectiveBlockSize)
        var offset: Int64 = 0
        for (index, block) in blocks.enumerated() {
            guard block.offset == offset else { throw refuse("block \(index) does not follow the one before it") }
            let isLast = index == blocks.count - 1
            guard block.size == wholeBlock || isLast && block.size <= wholeBlock && (block.size > 0 || index == 0)
            else {
                throw refuse("block \(index) has \(block.size) bytes")
            }
            // bounded: at most 2^20 blocks of at most 16 MiB
            offset += Int64(block.size)
        }
        guard offset == size else { throw refuse("its blocks make \(offset) bytes and not \(size)") }
    }

    /// Writes the entry as it goes on the wire.
    func encode(into writer: inout WireWriter) {
        writer.field(1, text: name)
        // The older kinds of symbolic link are not written any more.
        writer.field(2, signed: Int64(kind.isSymlink ? Kind.symlink.rawValue : kind.rawValue))
        writer.field(3, signed: size)
        writer.field(4, unsigned: UInt64(permissions))
        writer.field(5, signed: modifiedSeconds)
        writer.field(6, flag: isDeleted)
        writer.field(7, flag: isInvalid)
        writer.field(8, flag: hasNoPermissions)
        if !version.isEmpty { writer.message(9) { version.encode(into: &$0) } }
        writer.field(10, signed: sequence)
        writer.field(11, signed: Int64(modifiedNanoseconds))
        writer.field(12, unsigned: modifiedBy.rawValue)
        writer.field(13, signed: Int64(blockSize))
        for block in blocks { writer.message(16) { block.encode(into: &$0) } }
        writer.field(17, bytes: symlinkTarget)
        if let blocksHash { writer.field(18, digest: blocksHash) }
        writer.raw(sentFields)
    }
}

extension BlockInfo {
    init(decoding reader: inout WireReader) throws(ProtocolError) {
        var hash: SHA256Digest?
        var offset: Int64 = 0
        var size: Int32 = 0
        var weakHash: UInt32 = 0
        while let tag = try reader.tag() {
            switch tag.field {
            case 1:
                try reader.expect(tag, .varint)
                offset = try reader.int64()
            case 2:
                try reader.expect(tag, .varint)
                size = try reader.int32()
            case 3:
                try reader.expect(tag, .bytes)
                hash = try reader.digest("a block's hash")
            case 4:
                try reader.expect(tag, .varint)
                weakHash = UInt32(truncatingIfNeeded: try reader.varint())
            default: try reader.skip(tag.type)
            }
        }
        guard let hash else { throw ProtocolError(.invalidEntry, "a block has no hash") }
        guard size >= 0, size <= Int32(BlockSize.maximum), offset >= 0 else {
            throw ProtocolError(.invalidEntry, "a block has the size \(size) at the offset \(offset)")
        }
        self.init(offset: offset, size: size, hash: hash, weakHash: weakHash)
    }

    func encode(into writer: inout WireWriter) {
        writer.field(1, signed: offset)
        writer.field(2, signed: Int64(size))
        writer.field(3, digest: hash)
        writer.field(4, unsigned: UInt64(weakHash))
    }
}

extension VersionVector {
    init(decoding reader: inout WireReader, limits: ExchangeLimits) throws(ProtocolError) {
        var counters: [Counter] = []
        while let tag = try reader.tag() {
            guard tag.field == 1 else {
                try reader.skip(tag.type)
                continue
            }
            try reader.expect(tag, .bytes)
            guard counters.count < limits.countersPerVector else {
                throw ProtocolError(.tooMany, "a version vector has more than \(limits.countersPerVector) counters")
            }
            var nested = WireReader(try reader.borrowed())
            var counter = Counter(id: ShortID(rawValue: 0), value: 0)
            while let tag = try nested.tag() {
                switch tag.field {
                case 1:
                    try nested.expect(tag, .varint)
                    counter.id = ShortID(rawValue: try nested.varint())
                case 2:
                    try nested.expect(tag, .varint)
                    counter.value = try nested.varint()
                default: try nested.skip(tag.type)
                }
            }
            counters.append(counter)
        }
        self.init(counters)
    }

    /// The vector as a protobuf message.
    public func encoded() -> [UInt8] {
        var writer = WireWriter(reserving: counters.count * 20)
        encode(into: &writer)
        return writer.bytes
    }

    func encode(into writer: inout WireWriter) {
        for counter in counters {
            writer.message(1) { nested in
                nested.field(1, unsigned: counter.id.rawValue)
                nested.field(2, unsigned: counter.value)
            }
        }
    }
}
