import Cryptography

/// The carried fields that this device reads or writes: whatever else they hold goes on as it came.
extension FileInfo {
    private static let platformField = 14
    private static let previousBlocksHashField = 20
    /// What this device notes for itself. As Syncthing's own notes (1000 to 1003), these fields never go over the wire.
    static let privateFields = 1000...1099
    private static let diskAttributesField = 1010
    private static let renamedAwayField = 1011

    /// The content that the change behind this entry started from, as `blocksHash` has it; nil if its author did not
    /// say (BEP field 20, Syncthing 2.1 and later).
    public var previousBlocksHash: SHA256Digest? {
        var found: SHA256Digest?
        forEachCarriedField { field, body, _ in
            if field == Self.previousBlocksHashField { found = body.flatMap { SHA256Digest($0) } }
        }
        return found
    }

    /// The carried fields of the entry by which this device announces a change of what this entry says: what belongs
    /// to the file goes on (platform data), what told of the earlier change does not.
    ///
    /// - parameter content: what the change started from, as `blocksHash` has it; nil if there was no file.
    public func carriedFields(afterChangeOf content: SHA256Digest?) -> [UInt8] {
        var writer = WireWriter()
        forEachCarriedField { field, _, whole in
            if field == Self.platformField { writer.raw(Array(whole)) }
        }
        if let content { writer.field(Self.previousBlocksHashField, digest: content) }
        return writer.bytes
    }

    /// Whether this device deleted the name because it gave the file another one by itself, or took the deletion over from a device that
    /// says it was made here: nobody here wanted it deleted.
    public var isRenamedAway: Bool {
        var isFound = false
        forEachCarriedField { field, _, _ in if field == Self.renamedAwayField { isFound = true } }
        return isFound
    }

    /// Notes that; no other device is told.
    public mutating func noteRenamedAway() {
        guard !isRenamedAway else { return }
        var writer = WireWriter()
        writer.field(Self.renamedAwayField, unsigned: 1)
        carriedFields += writer.bytes
    }

    // MARK: attributes

    /// What the entry says of ownership and extended attributes.
    public var attributes: FileAttributes { attributes(in: Self.platformField) ?? FileAttributes() }

    /// What this device has seen on its disk of these when it last had a look, as far as it syncs them. It differs from what is
    /// announced where that could not be set. Nil if it never had a look.
    public var diskAttributes: FileAttributes? { attributes(in: Self.diskAttributesField) }

    /// Sets what the entry says of ownership and extended attributes on Linux; what it says of other systems stays.
    ///
    /// - parameter onDisk: what the disk of this device has; nil if nobody had a look.
    public mutating func setAttributes(_ attributes: FileAttributes, onDisk: FileAttributes?) {
        var others: [(field: Int, bytes: [UInt8])] = []
        var rest = WireWriter()
        forEachCarriedField { field, body, whole in
            switch field {
            case Self.platformField: if let body { others += Self.foreignFields(in: body) }
            case Self.diskAttributesField: break
            default: rest.raw(Array(whole))
            }
        }
        var writer = WireWriter()
        if !attributes.isEmpty || !others.isEmpty {
            writer.message(Self.platformField) { attributes.encode(into: &$0, beside: others) }
        }
        writer.raw(rest.bytes)
        if let onDisk { writer.message(Self.diskAttributesField) { onDisk.encode(into: &$0) } }
        carriedFields = writer.bytes
    }

    /// The carried fields that others may see.
    var sentFields: [UInt8] {
        guard diskAttributes != nil || isRenamedAway else { return carriedFields }
        var writer = WireWriter()
        forEachCarriedField { field, _, whole in
            if !Self.privateFields.contains(field) { writer.raw(Array(whole)) }
        }
        return writer.bytes
    }

    private func attributes(in wanted: Int) -> FileAttributes? {
        var found: FileAttributes?
        forEachCarriedField { field, body, _ in
            if field == wanted, let body { found = FileAttributes(decoding: body) }
        }
        return found
    }

    /// The fields of platform data that belong to other systems; empty if the data cannot be decoded.
    private static func foreignFields(in platform: UnsafeRawBufferPointer) -> [(field: Int, bytes: [UInt8])] {
        var fields: [(field: Int, bytes: [UInt8])] = []
        var reader = WireReader(platform)
        do throws(ProtocolError) {
            while true {
                let start = reader.offset
                guard let tag = try reader.tag() else { return fields }
                try reader.skip(tag.type)
                guard tag.field != FileAttributes.unixField, tag.field != FileAttributes.linuxField else { continue }
                // bounded: the reader's place is within its bytes
                fields.append((tag.field, Array(platform[start..<reader.offset])))
            }
        } catch {
            return []
        }
    }

    /// Calls `body` with each field's number, its bytes if it has a length, and all of it with its key. Ends at what
    /// is no protobuf.
    private func forEachCarriedField(
        _ body: (_ field: Int, _ bytes: UnsafeRawBufferPointer?, _ whole: UnsafeRawBufferPointer) -> Void
    ) {
        guard !carriedFields.isEmpty else { return }
        carriedFields.withUnsafeBytes { carried in
            var reader = WireReader(carried)
            do {
                while true {
                    let start = reader.offset
                    guard let tag = try reader.tag() else { return }
                    var bytes: UnsafeRawBufferPointer?
                    if tag.type == .bytes { bytes = try reader.borrowed() } else { try reader.skip(tag.type) }
                    // bounded: the reader's place is within its bytes
                    body(tag.field, bytes, UnsafeRawBufferPointer(rebasing: carried[start..<reader.offset]))
                }
            } catch {
                // Fields are carried only after they were read once, so this is a damaged entry: the rest says nothing.
                return
            }
        }
    }
}
