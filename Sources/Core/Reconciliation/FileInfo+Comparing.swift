import Arithmetic
import BlockExchange

/// How two entries of one name compare.
extension FileInfo {
    /// The bits of `permissions` that carry meaning.
    static let permissionMask: UInt32 = 0o777
    /// What BEP wants in `permissions` where there are none.
    static let unknownPermissions: UInt32 = 0o666

    func isSameKind(as other: FileInfo) -> Bool {
        kind == other.kind || kind.isSymlink && other.kind.isSymlink
    }

    /// Whether both are there and hold the same: bytes, target, or being a directory. Unknown content equals nothing.
    func hasSameContent(as other: FileInfo) -> Bool {
        guard !isDeleted, !other.isDeleted, isSameKind(as: other) else { return false }
        switch kind {
        case .file:
            guard let blocksHash, let theirs = other.blocksHash else { return false }
            return size == other.size && blocksHash == theirs
        case .directory: return true
        case .symlink, .symlinkToFile, .symlinkToDirectory: return symlinkTarget == other.symlinkTarget
        }
    }

    /// What of the disk must change so that `self`, which has the same content, becomes `other`.
    func metadataChange(to other: FileInfo, rules: FolderRules) -> MetadataChange {
        var change: MetadataChange = []
        guard !kind.isSymlink else { return change }
        if !rules.ignoresPermissions(at: name), !other.hasNoPermissions, !hasNoPermissions,
            permissions & Self.permissionMask != other.permissions & Self.permissionMask
        {
            change.insert(.permissions)
        }
        let isSameTime = rules.hasCoarseTimes(at: name) ? isModified(closeToTimeOf: other) : isModified(atTimeOf: other)
        if kind == .file, !isSameTime, !isModified(inPlaceOfTimeOf: other) { change.insert(.modificationTime) }
        if hasOtherAttributes(than: other, rules: rules.attributes) { change.insert(.attributes) }
        return change
    }

    func isModified(atTimeOf other: FileInfo) -> Bool {
        modifiedSeconds == other.modifiedSeconds && modifiedNanoseconds == other.modifiedNanoseconds
    }

    /// The same for disks that keep every other second only, and none before 1980 or after 2107.
    func isModified(closeToTimeOf other: FileInfo) -> Bool {
        let (earlier, later) = other.isModified(before: self) ? (other, self) : (self, other)
        let limit = earlier.modifiedSeconds.addingClamped(2)
        return (later.modifiedSeconds, later.modifiedNanoseconds) < (limit, earlier.modifiedNanoseconds)
            || TimesOfFAT.isOutside(earlier.modifiedSeconds, shownAs: later.modifiedSeconds)
            || TimesOfFAT.isOutside(later.modifiedSeconds, shownAs: earlier.modifiedSeconds)
    }

    /// Whether one of the two times is what disks of Linux keep in place of the other, which they do not have.
    private func isModified(inPlaceOfTimeOf other: FileInfo) -> Bool {
        TimesOfLinux.isOutside(modifiedSeconds, shownAs: other.modifiedSeconds)
            || TimesOfLinux.isOutside(other.modifiedSeconds, shownAs: modifiedSeconds)
    }

    private func isModified(before other: FileInfo) -> Bool {
        (modifiedSeconds, modifiedNanoseconds) < (other.modifiedSeconds, other.modifiedNanoseconds)
    }

    /// Whether it is the same to every device: content and the metadata that counts.
    func isEquivalent(to other: FileInfo, rules: FolderRules) -> Bool {
        hasSameContent(as: other) && metadataChange(to: other, rules: rules).isEmpty
    }

    /// Whether the disk holds this entry, as `observed` tells without its content having been read.
    func looksLike(_ observed: FileInfo, rules: FolderRules) -> Bool {
        guard !isDeleted, isSameKind(as: observed), metadataChange(to: observed, rules: rules).isEmpty else {
            return false
        }
        return kind == .file ? size == observed.size : hasSameContent(as: observed)
    }

    /// Whether the version has seen all that `other`'s has.
    func hasSeen(_ other: FileInfo) -> Bool { version.hasSeen(other.version) }

    /// The same without what it says of content, so that nothing is taken for it.
    var withoutContent: FileInfo {
        var file = self
        file.blocks = []
        file.blocksHash = nil
        return file
    }

    /// The deletion of this entry by `device`.
    func deleted(by device: ShortID, unixSeconds: Int64, version: VersionVector) -> FileInfo {
        FileInfo(
            name: name, kind: kind, permissions: permissions, modifiedSeconds: unixSeconds, isDeleted: true,
            hasNoPermissions: hasNoPermissions, version: version, modifiedBy: device,
            carriedFields: carriedFields(afterChangeOf: nil))
    }
}

extension VersionVector {
    func hasSeen(_ other: VersionVector) -> Bool {
        switch compare(other) {
        case .equal, .greater: true
        case .lesser, .concurrentGreater, .concurrentLesser: false
        }
    }

    /// The vector after a change by `device` of what has this one.
    ///
    /// - parameter others: vectors of the same name that are known. A counter that `device` has in one of them was given
    ///   once, by a device that has forgotten it: it is never given again.
    func changed(by device: ShortID, besides others: [VersionVector], unixSeconds: Int64) -> VersionVector {
        let given = others.map { $0.value(of: device) }.max() ?? 0
        return VersionVector(counters + [Counter(id: device, value: given)])
            .updated(by: device, unixSeconds: UInt64(clamping: unixSeconds))
    }

    /// Only what `device` itself did.
    func only(_ device: ShortID) -> VersionVector { VersionVector([Counter(id: device, value: value(of: device))]) }
}
