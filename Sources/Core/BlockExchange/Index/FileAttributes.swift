/// An extended attribute of a file or directory.
public struct ExtendedAttribute: Hashable, Sendable {
    /// 1 to 255 bytes of UTF-8 without NUL, with its namespace: `user.comment`.
    public var name: String
    /// At most 64 KiB.
    public var value: [UInt8]

    public init(name: String, value: [UInt8]) {
        self.name = name
        self.value = value
    }

    /// Bytes of name and value.
    public var byteCount: Int { name.utf8.count + value.count }
}

/// Who owns a file or directory on a Unix system.
public struct UnixOwner: Hashable, Sendable {
    /// Empty where the system has no name for the number.
    public var ownerName: String
    public var groupName: String
    public var uid: Int32
    public var gid: Int32

    public init(ownerName: String = "", groupName: String = "", uid: Int32, gid: Int32) {
        self.ownerName = ownerName
        self.groupName = groupName
        self.uid = uid
        self.gid = gid
    }

    public func hasSameIDs(as other: UnixOwner) -> Bool { uid == other.uid && gid == other.gid }

    /// Whether both are the same user and group to two devices, which may have other numbers for a name: the same numbers,
    /// or the same names.
    public func isSame(as other: UnixOwner) -> Bool {
        if hasSameIDs(as: other) { return true }
        return !ownerName.isEmpty && !groupName.isEmpty && ownerName == other.ownerName && groupName == other.groupName
    }
}

/// What an entry says of extended attributes on Linux and of ownership. Nil for what its author says nothing of, which
/// is not the same as none: it removes nothing.
public struct FileAttributes: Hashable, Sendable {
    public var owner: UnixOwner?
    /// Each name once, ordered by the bytes of the names.
    public var extended: [ExtendedAttribute]?

    public init(owner: UnixOwner? = nil, extended: [ExtendedAttribute]? = nil) {
        self.owner = owner
        self.extended = extended?.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    public var isEmpty: Bool { owner == nil && extended == nil }
}

/// PlatformData of BEP: 1 unix {1 owner_name, 2 group_name, 3 uid, 4 gid}, 3 linux {1 xattrs {1 name, 2 value}}; the others
/// belong to other systems.
extension FileAttributes {
    static let unixField = 1
    static let windowsField = 2
    static let linuxField = 3
    /// More attributes than that no file system of Linux gives back at once.
    static let countLimit = 4096
    static let nameByteLimit = 255
    static let valueByteLimit = 64 << 10

    /// Reads what a device sent. Extended attributes of which any is impossible on Linux are taken for not said: a part of
    /// them would be taken for all. The same holds for an owner that cannot be read.
    init(decoding bytes: UnsafeRawBufferPointer) {
        self.init()
        var reader = WireReader(bytes)
        do throws(ProtocolError) {
            while let tag = try reader.tag() {
                switch (tag.field, tag.type) {
                case (Self.unixField, .bytes):
                    let body = try reader.borrowed()
                    owner = try? UnixOwner(decoding: body)
                case (Self.linuxField, .bytes): extended = Self.extended(decoding: try reader.borrowed())
                default: try reader.skip(tag.type)
                }
            }
        } catch {
            self = FileAttributes()
        }
    }

    private static func extended(decoding bytes: UnsafeRawBufferPointer) -> [ExtendedAttribute]? {
        var reader = WireReader(bytes)
        var found: [ExtendedAttribute] = []
        do throws(ProtocolError) {
            while let tag = try reader.tag() {
                guard tag.field == 1, tag.type == .bytes else {
                    try reader.skip(tag.type)
                    continue
                }
                guard found.count < countLimit,
                    let attribute = try ExtendedAttribute(decoding: try reader.borrowed())
                else { return nil }
                found.append(attribute)
            }
        } catch {
            return nil
        }
        guard Set(found.map(\.name)).count == found.count else { return nil }
        return FileAttributes(extended: found).extended
    }

    /// Writes the message; `others` are fields of other systems, in wire form.
    func encode(into writer: inout WireWriter, beside others: [(field: Int, bytes: [UInt8])] = []) {
        if let owner { writer.message(Self.unixField) { owner.encode(into: &$0) } }
        for other in others where other.field == Self.windowsField { writer.raw(other.bytes) }
        if let extended {
            writer.message(Self.linuxField) { writer in
                for attribute in extended {
                    writer.message(1) { writer in
                        writer.field(1, text: attribute.name)
                        writer.field(2, bytes: attribute.value)
                    }
                }
            }
        }
        for other in others where other.field != Self.windowsField { writer.raw(other.bytes) }
    }
}

extension ExtendedAttribute {
    /// Nil for what no file can have on Linux.
    fileprivate init?(decoding bytes: UnsafeRawBufferPointer) throws(ProtocolError) {
        var reader = WireReader(bytes)
        self.init(name: "", value: [])
        while let tag = try reader.tag() {
            switch (tag.field, tag.type) {
            case (1, .bytes): name = try reader.text(atMost: FileAttributes.nameByteLimit, "an attribute's name")
            case (2, .bytes): value = try reader.bytes(atMost: FileAttributes.valueByteLimit, "an attribute's value")
            default: try reader.skip(tag.type)
            }
        }
        guard !name.isEmpty, !name.utf8.contains(0) else { return nil }
    }
}

extension UnixOwner {
    /// Longer than any name of a user or group that systems allow.
    private static let nameByteLimit = 1024

    fileprivate init(decoding bytes: UnsafeRawBufferPointer) throws(ProtocolError) {
        var reader = WireReader(bytes)
        self.init(uid: 0, gid: 0)
        while let tag = try reader.tag() {
            switch (tag.field, tag.type) {
            case (1, .bytes): ownerName = try reader.text(atMost: Self.nameByteLimit, "an owner's name")
            case (2, .bytes): groupName = try reader.text(atMost: Self.nameByteLimit, "a group's name")
            case (3, .varint): uid = try reader.int32()
            case (4, .varint): gid = try reader.int32()
            default: try reader.skip(tag.type)
            }
        }
    }

    fileprivate func encode(into writer: inout WireWriter) {
        writer.field(1, text: ownerName)
        writer.field(2, text: groupName)
        writer.field(3, signed: Int64(uid))
        writer.field(4, signed: Int64(gid))
    }
}
