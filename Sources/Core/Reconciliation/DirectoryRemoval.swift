/// Whether a directory that the plan deletes can go, given what is found in it when its turn comes.
package enum DirectoryRemoval {
    /// Something found below the directory, at any depth.
    package struct Item: Equatable, Sendable {
        package var name: String
        package var isDirectory: Bool
        /// The name of a file that is still being written.
        package var isTemporary: Bool
        /// Not selected, and no directory above something selected.
        package var isLeftOut: Bool
        /// Ignored by a `(?d)` line.
        package var isDeletable: Bool
        /// A look at it says that it cannot be synced, or it lies in what cannot.
        package var isUnsyncable: Bool
        /// It is deleted elsewhere, too, and was to go before.
        package var isDeletedElsewhere: Bool
        package var local: LocalVersion?
        /// Whether the disk holds what `local` says.
        package var isUnchanged: Bool

        package init(
            name: String, isDirectory: Bool = false, isTemporary: Bool = false, isLeftOut: Bool = false,
            isDeletable: Bool = false, isUnsyncable: Bool = false, isDeletedElsewhere: Bool = false,
            local: LocalVersion? = nil,
            isUnchanged: Bool = true
        ) {
            self.name = name
            self.isDirectory = isDirectory
            self.isTemporary = isTemporary
            self.isLeftOut = isLeftOut
            self.isDeletable = isDeletable
            self.isUnsyncable = isUnsyncable
            self.isDeletedElsewhere = isDeletedElsewhere
            self.local = local
            self.isUnchanged = isUnchanged
        }
    }

    package enum Verdict: Equatable, Sendable {
        /// The directory may go once these are gone: each after what is below it. What is not empty then stays.
        case remove(first: [String])
        /// It stays until these, which changed, have been scanned.
        case rescan([String])
        /// It stays: it holds what no device can be told of. People have to move that.
        case holdsUnsyncable([String])
        /// It stays until these, which are deleted elsewhere and could not go, have gone.
        case holdsDeleted([String])
        /// It stays: it holds what is not selected here. People have to decide; `(?d)` lines decide for them.
        case holdsIgnored([String])
        /// It stays, because it holds what is selected and not deleted: `LocalChanges.retaining` says what to announce.
        case holdsKept([String])
    }

    /// - parameter items: all that is below the directory; nothing of it was touched.
    package static func verdict(on items: [Item]) -> Verdict {
        var removable: [String] = []
        var changed: [String] = []
        var unsyncable: [String] = []
        var deleted: [String] = []
        var ignored: [String] = []
        var kept: [String] = []
        for item in items {
            if item.isDeletable || item.isTemporary && !item.isDirectory {
                removable.append(item.name)
            } else if item.isLeftOut {
                ignored.append(item.name)
            } else if item.isUnsyncable {
                unsyncable.append(item.name)
            } else if let local = item.local, local.isLive, item.isUnchanged,
                local.flags.isDisjoint(with: [.mustRescan, .ignored])
            {
                if item.isDeletedElsewhere { deleted.append(item.name) } else { kept.append(item.name) }
            } else {
                changed.append(item.name)
            }
        }
        if !changed.isEmpty { return .rescan(changed.sorted(by: PathOrder.precedes)) }
        if !kept.isEmpty { return .holdsKept(kept.sorted(by: PathOrder.precedes)) }
        // Each says what is wrong with it, and what is in it does.
        if !deleted.isEmpty { return .holdsDeleted(deleted.sorted(by: PathOrder.precedes)) }
        if !unsyncable.isEmpty { return .holdsUnsyncable(unsyncable.sorted(by: PathOrder.precedes)) }
        if !ignored.isEmpty { return .holdsIgnored(ignored.sorted(by: PathOrder.precedes)) }
        return .remove(first: removable.sorted { PathOrder.precedes($1, $0) })
    }
}
