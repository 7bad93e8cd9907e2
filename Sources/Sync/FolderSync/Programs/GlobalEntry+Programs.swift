import IndexStore

extension LocalEntry {
    /// Whether the disk may hold something else by now than the entry says, as after a program's write was noted.
    package var isNotedForWriting: Bool { flags.contains(.mustRescan) && status != nil && !file.isDeleted }
}

extension NameFacts {
    /// Whether the index has the name on this disk, in any version: a scan that does not find it takes it for deleted.
    var isOnDiskByIndex: Bool { local.map { $0.status != nil && !$0.file.isDeleted } ?? false }
}

extension GlobalEntry {
    /// Whether this device has the version that counts, as far as the index knows. If the disk does not, it was removed here, and
    /// no scan has seen that yet: programs see it as gone, and not as absent.
    package var isHereByIndex: Bool {
        guard let local, local.flags.isEmpty, local.status != nil, !local.file.isDeleted, let file else { return false }
        return local.file.version == file.version
    }
}
