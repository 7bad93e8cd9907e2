import BlockExchange
import FileAccess

/// What the disk has, as it is announced, and the other way round.
extension FileAttributes {
    package init(_ disk: DiskAttributes) {
        self.init(
            owner: disk.owner.map { owner in
                UnixOwner(
                    ownerName: owner.ownerName, groupName: owner.groupName, uid: Int32(bitPattern: owner.uid),
                    gid: Int32(bitPattern: owner.gid))
            },
            extended: disk.extended.map { $0.map { ExtendedAttribute(name: $0.name, value: $0.value) } })
    }

    /// The same as far as `filter` permits.
    package func permitted(by filter: AttributeFilter) -> FileAttributes {
        FileAttributes(owner: owner, extended: extended.map(filter.permitted))
    }
}

extension DiskAttributes {
    package init(_ attributes: FileAttributes) {
        self.init(
            owner: attributes.owner.map { owner in
                DiskOwner(
                    uid: UInt32(bitPattern: owner.uid), gid: UInt32(bitPattern: owner.gid), ownerName: owner.ownerName,
                    groupName: owner.groupName)
            },
            extended: attributes.extended.map { $0.map { DiskAttribute(name: $0.name, value: $0.value) } })
    }
}

/// Which attributes a scan reads.
package struct AttributeReading: Sendable {
    package var access: AttributeAccess
    /// Bounds what is read by name and size.
    package var filter: AttributeFilter

    package init(_ access: AttributeAccess, _ filter: AttributeFilter) {
        self.access = access
        self.filter = filter
    }

    func attributes(_ disk: DiskAttributes) -> FileAttributes { FileAttributes(disk).permitted(by: filter) }

    /// Whether `known` says all that is read, so that it holds until the time of change moves.
    func isComplete(_ known: FileAttributes?) -> Bool {
        guard let known else { return false }
        return (known.extended != nil || access.permits == nil) && (known.owner != nil || !access.usesOwner)
    }
}
