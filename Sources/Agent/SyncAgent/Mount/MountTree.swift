import BlockExchange
import Cryptography
import FileAccess
import IndexStore
import MountProtocol

/// What the mount shows of a name: what is on this disk, else what the index has. Pure.
enum MountTree {
    /// What is on this disk under the name.
    struct OnDisk: Equatable, Sendable {
        var status: FileAccess.FileStatus
        /// Of a symbolic link.
        var target: [UInt8] = []
    }

    /// - Parameters:
    ///   - file: the winning version; nil or deleted where nobody has the name.
    ///   - isDirectory: whether the index lists a directory there, perhaps only for what is below.
    ///   - onDisk: nil for what is not here.
    /// - Returns: nil where there is nothing to show.
    static func entry(
        _ name: String, _ file: FileInfo?, isDirectory: Bool, onDisk: OnDisk?
    ) -> MountEntry? {
        if let onDisk { return present(name, file, onDisk) }
        if isDirectory {
            let announced = file.flatMap { $0.isDeleted || $0.isInvalid ? nil : $0 }
            return MountEntry(
                name: name, kind: .directory, version: 0, size: 0, modifiedSeconds: announced?.modifiedSeconds ?? 0,
                modifiedNanoseconds: nanoseconds(announced?.modifiedNanoseconds ?? 0),
                permissions: permissions(announced, else: 0o755), isHere: false)
        }
        guard let file, !file.isDeleted, !file.isInvalid else { return nil }
        let isSymlink = file.kind.isSymlink
        let target = Array(file.symlinkTarget.prefix(MountLimits.targetByteCount))
        return MountEntry(
            name: name, kind: isSymlink ? .symlink : .file, version: version(of: file),
            size: isSymlink ? Int64(target.count) : max(0, file.size), modifiedSeconds: file.modifiedSeconds,
            modifiedNanoseconds: nanoseconds(file.modifiedNanoseconds),
            permissions: isSymlink ? 0o777 : permissions(file, else: 0o644), isHere: false,
            target: isSymlink ? target : [])
    }

    private static func present(_ name: String, _ file: FileInfo?, _ onDisk: OnDisk) -> MountEntry? {
        let status = onDisk.status
        let target = Array(onDisk.target.prefix(MountLimits.targetByteCount))
        let kind: MountEntry.Kind
        switch status.type {
        case .regular: kind = .file
        case .directory: kind = .directory
        case .symlink: kind = .symlink
        case .other: return nil
        }
        return MountEntry(
            name: name, kind: kind, version: kind == .directory ? 0 : version(of: file, onDisk),
            size: kind == .file ? max(0, status.size) : kind == .symlink ? Int64(target.count) : 0,
            modifiedSeconds: status.modified.seconds,
            modifiedNanoseconds: nanoseconds(status.modified.nanoseconds),
            permissions: UInt16(truncatingIfNeeded: status.permissions & 0o777), isHere: true, disk: status.inode,
            target: target)
    }

    /// Whether a file on this disk is the announced version, as far as its size and time tell.
    static func isAnnounced(_ file: FileInfo, _ status: FileAccess.FileStatus) -> Bool {
        file.kind == .file && status.type == .regular && status.isAs(file)
    }

    /// Of what is here: the announced version's if it is that, so that a file which is put here stays the same to who has it open.
    private static func version(of file: FileInfo?, _ onDisk: OnDisk) -> UInt64 {
        let status = onDisk.status
        if let file, !file.isDeleted, !file.isInvalid {
            if isAnnounced(file, status) { return version(of: file) }
            if file.kind.isSymlink, status.type == .symlink, onDisk.target == file.symlinkTarget {
                return version(of: file)
            }
        }
        return number(
            "disk \(status.inode) \(status.size) \(status.modified.seconds) \(status.modified.nanoseconds)",
            onDisk.target)
    }

    static func version(of file: FileInfo) -> UInt64 {
        number(
            "\(file.version) \(file.size) \(file.modifiedSeconds) \(file.modifiedNanoseconds) \(file.kind.rawValue)",
            file.symlinkTarget)
    }

    /// The first bytes of a hash; never 0, which is a directory's.
    private static func number(_ text: String, _ bytes: [UInt8]) -> UInt64 {
        let digest = SHA256.digest(Array(text.utf8) + [0] + bytes)
        return max(1, digest.bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
    }

    static func nanoseconds(_ value: some BinaryInteger) -> UInt32 {
        let value = UInt32(clamping: value)
        return value < 1_000_000_000 ? value : 0
    }

    private static func permissions(_ file: FileInfo?, else usual: UInt16) -> UInt16 {
        guard let file, !file.hasNoPermissions else { return usual }
        return UInt16(truncatingIfNeeded: file.permissions & 0o777)
    }

    /// Both lists by the bytes of their names, merged; a name that is in both is shown as it is on this disk.
    static func merged(_ index: [MountEntry], _ disk: [MountEntry], limit: Int) -> [MountEntry] {
        var merged: [MountEntry] = []
        var (left, right) = (index[...], disk[...])
        while merged.count < limit, let next = left.first ?? right.first {
            if let other = right.first, left.isEmpty || !precedes(next.name, other.name) {
                if left.first?.name.utf8.elementsEqual(other.name.utf8) == true { left.removeFirst() }
                merged.append(other)
                right.removeFirst()
            } else {
                merged.append(next)
                left.removeFirst()
            }
        }
        return merged
    }

    static func precedes(_ left: String, _ right: String) -> Bool { left.utf8.lexicographicallyPrecedes(right.utf8) }
}
