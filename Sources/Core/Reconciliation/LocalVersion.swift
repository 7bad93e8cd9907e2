import BlockExchange

/// What this device has of a name, and whether it vouches for it.
///
/// The index keeps the same as a `LocalEntry`: flags have the same numbers, and `isOnDisk` stands for its status.
package struct LocalVersion: Equatable, Sendable {
    /// Why this device does not vouch for what it has; the numbers are Syncthing's.
    package struct Flags: OptionSet, Hashable, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Nothing that can be synchronised: a socket, a device, a name in another normal form.
        package static let unsupported = Flags(rawValue: 1)
        /// Not selected, and still on this disk.
        package static let ignored = Flags(rawValue: 2)
        /// The disk may hold something else than the entry says.
        package static let mustRescan = Flags(rawValue: 4)
        /// Changed here in a folder that only receives. It is announced with an empty version, so that it never wins;
        /// here it keeps the version that the change gave it.
        package static let receiveOnlyChanged = Flags(rawValue: 8)

        /// Flags of what never took part in the cluster: when it does, it may have overtaken nothing.
        static let outside: Flags = [.unsupported, .ignored, .receiveOnlyChanged]
    }

    /// Invalid exactly if there are flags. `blocks` may be empty where nobody needs them; `blocksHash` is what content
    /// is compared by, and a live file without it has unknown content.
    package let file: FileInfo
    package let flags: Flags
    /// Whether something of that name is on this disk. False for deletions.
    package let isOnDisk: Bool

    package init(file: FileInfo, flags: Flags = [], isOnDisk: Bool) {
        var file = file
        file.isInvalid = !flags.isEmpty
        self.file = file
        self.flags = flags
        self.isOnDisk = isOnDisk
    }

    /// Whether this device vouches for it.
    package var isValid: Bool { flags.isEmpty }

    /// Whether it is there: on this disk and not known as deleted.
    var isLive: Bool { isOnDisk && !file.isDeleted }

    /// What stands once the global version `file` is on this disk, or gone from it.
    package static func current(_ file: FileInfo) -> LocalVersion {
        LocalVersion(file: file, isOnDisk: !file.isDeleted)
    }
}
