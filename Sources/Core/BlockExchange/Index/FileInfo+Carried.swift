import Cryptography

/// The carried fields that this device reads or writes: whatever else they hold goes on as it came.
extension FileInfo {
    private static let platformField = 14
    private static let previousBlocksHashField = 20

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
                    body(tag.field, bytes, UnsafeRawBufferPointer(rebasing: carried[start..<reader.offset]))
                }
            } catch {
                // Fields are carried only after they were read once, so this is a damaged entry: the rest says nothing.
                return
            }
        }
    }
}
