import BlockExchange

/// A part of a listing, and where the next part begins.
package struct IndexPage<Entry: Equatable & Sendable>: Equatable, Sendable {
    package var entries: [Entry]
    /// What to give as `after` for the next page; nil if this is the last one. A page that is not the last may be
    /// empty: so much, and not more, is looked at in one transaction.
    package var next: String?
}

/// A name of which this device does not have the winner or does not vouch for it, or one that is here and that nobody has given a
/// version yet.
package struct NeededEntry: Equatable, Sendable {
    /// The winning announcement, valid or deleted, without blocks but with the hash over theirs.
    package var file: FileInfo
    /// What this device has, without blocks but with the hash over theirs; nil if it has nothing to say of the name.
    package var local: LocalEntry?
    /// The other devices whose valid announcement has the winner's version, in the order of their ids.
    package var holders: [DeviceID]
    /// The versions of files that other devices announce as theirs and that are not the winner's, in the order of their ids.
    package var rivals: [VersionVector]

    package init(
        file: FileInfo, local: LocalEntry? = nil, holders: [DeviceID] = [], rivals: [VersionVector] = []
    ) {
        self.file = file
        self.local = local
        self.holders = holders
        self.rivals = rivals
    }

    package var path: String { file.name }

    /// Whether both are files with the same blocks, so that there is nothing to fetch.
    package var hasSameContent: Bool {
        guard let local, file.kind == .file, local.file.kind == .file, !file.isDeleted, !local.file.isDeleted else {
            return false
        }
        return file.size == local.file.size && file.blocksHash == local.file.blocksHash
    }

    /// Whether it is here and lacks nothing but a version.
    package var lacksOnlyVersion: Bool { file.version.isEmpty }

    /// Whether this device has already seen the winner and changed it, in a folder that only receives.
    package var isChangedHere: Bool {
        guard let local, local.flags.contains(.receiveOnlyChanged) else { return false }
        switch local.file.version.compare(file.version) {
        case .equal, .greater: return true
        case .lesser, .concurrentGreater, .concurrentLesser: return false
        }
    }
}

/// How much of what is kept this device does not have as the winner.
package struct NeededTotals: Equatable, Sendable {
    /// Of what is to come.
    package var items: Aggregate
    /// Names that are here and that the winner deletes.
    package var deletions: Int64

    package init(items: Aggregate = .zero, deletions: Int64 = 0) {
        self.items = items
        self.deletions = deletions
    }

    /// What these come to, but for what was changed here in a folder that only receives and what only lacks a version.
    package init(_ entries: some Sequence<NeededEntry>) {
        self.init()
        for entry in entries where !entry.isChangedHere && !entry.lacksOnlyVersion {
            items += Aggregate(of: entry.file)
            if entry.file.isDeleted, entry.local?.file.isDeleted == false { deletions += 1 }
        }
    }
}
