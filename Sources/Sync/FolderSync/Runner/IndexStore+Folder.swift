import BlockExchange
import FileAccess
import IndexStore
import Reconciliation

extension NameFacts {
    var localVersion: LocalVersion? { local.map { LocalVersion($0) } }
}

extension LocalVersion {
    package init(_ entry: LocalEntry) {
        self.init(
            file: entry.file, flags: Flags(rawValue: entry.flags.rawValue), isOnDisk: entry.status != nil)
    }
}

extension LocalEntry {
    /// - parameter status: what is on disk; ignored for what is not there.
    package init(_ version: LocalVersion, _ status: IndexedStatus?) {
        self.init(
            file: version.file, flags: LocalFlags(rawValue: version.flags.rawValue),
            status: version.isOnDisk ? status ?? .unknown : nil)
    }
}

extension IndexedStatus {
    /// Something is there, and the next scan reads it.
    package static let unknown = IndexedStatus(inode: 0, changedSeconds: 0, changedNanoseconds: 0)

    /// What the index remembers of a file's status.
    init(_ status: FileAccess.FileStatus) {
        let changed = status.changed ?? FileTime(seconds: 0)
        self.init(inode: status.inode, changedSeconds: changed.seconds, changedNanoseconds: changed.nanoseconds)
    }
}

extension FileAccess.FileStatus {
    /// What the disk showed when the index last looked; nil for what is not on this disk.
    package init?(_ entry: LocalEntry) {
        guard let status = entry.status else { return nil }
        let type: FileType =
            switch entry.file.kind {
            case .file: .regular
            case .directory: .directory
            case .symlink, .symlinkToFile, .symlinkToDirectory: .symlink
            }
        let changed = FileTime(seconds: status.changedSeconds, nanoseconds: status.changedNanoseconds)
        self.init(
            type: type, size: type == .symlink ? Int64(entry.file.symlinkTarget.count) : entry.file.size,
            modified: FileTime(
                seconds: entry.file.modifiedSeconds, nanoseconds: entry.file.modifiedNanoseconds),
            inode: status.inode, permissions: entry.file.permissions & 0o777,
            changed: changed == FileTime(seconds: 0) ? nil : changed)
    }
}
