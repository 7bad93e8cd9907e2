import AgentConfiguration
import BlockExchange
import FileAccess
import FolderScanner
import Phrases
import Reconciliation

/// Sets on files what other devices announce of owner and extended attributes, as far as the folder syncs it.
struct AttributeWriter: Sendable {
    let rules: AttributeRules
    let access: AttributeAccess

    /// Nil where the folder leaves attributes alone.
    init?(_ rules: AttributeRules, accounts: AccountNames = AccountNames()) {
        guard rules.areRead else { return nil }
        self.rules = rules
        let filter = rules.filter
        var permits: (@Sendable (String) -> Bool)?
        if rules.extended != .none { permits = { filter.permits($0) } }
        access = AttributeAccess(
            permits: permits,
            removable: { disk in
                let synced = FileAttributes(DiskAttributes(extended: disk)).permitted(by: filter).extended ?? []
                let names = Set(synced.map(\.name))
                return disk.filter { names.contains($0.name) }
            }, usesOwner: rules.owner != .none, accounts: accounts)
    }

    /// What `file` is to get: what its author says nothing of, and what the folder only sends, stays.
    func change(for file: FileInfo) -> AttributeChange {
        let said = file.attributes
        var wanted = FileAttributes()
        if rules.owner == .synced { wanted.owner = said.owner }
        if rules.extended == .synced { wanted.extended = said.extended.map(rules.filter.permitted) }
        return AttributeChange(DiskAttributes(wanted), access)
    }

    /// What the index remembers of what a file has.
    func noted(_ disk: DiskAttributes) -> FileAttributes { FileAttributes(disk).permitted(by: rules.filter) }
}

extension FolderContext {
    var attributeWriter: AttributeWriter? { AttributeWriter(AttributeRules(settings.attributes)) }

    /// Says what of a file's attributes could not be set; false for nothing.
    @discardableResult
    func noteMissingAttributes(of file: FileInfo, _ work: inout FolderWork) -> Bool {
        let missing = file.missingAttributes(rules: rules.attributes)
        guard missing.owner != nil || !missing.extended.isEmpty,
            let message = ProblemText.missingAttributes(
                missing.owner, root.keepsAttributes ? missing.extended : [])
        else { return false }
        work.effects.problems.noteFound(message, at: file.name)
        return true
    }
}

extension RootDirectory {
    /// Gives what is in its place its permissions and attributes; gives those that it has then, if the folder looks at them.
    func finish(
        _ path: RelativePath, _ file: FileInfo, _ permissions: UInt32?, _ attributes: AttributeWriter?
    ) throws -> DiskAttributes? {
        guard let attributes else {
            if let permissions { try setPermissions(permissions, of: path) }
            return nil
        }
        return try set(permissions: permissions, attributes.change(for: file), of: path)
    }

    /// The status of what is finished, and what the index remembers of the attributes that it was given.
    func status(
        of path: RelativePath, having disk: DiskAttributes?, _ attributes: AttributeWriter?
    ) throws -> (FileAccess.FileStatus?, FileAttributes?) {
        guard let disk, let attributes else { return (try status(of: path), nil) }
        return (try status(of: path, having: disk, attributes.access), attributes.noted(disk))
    }
}

extension AttributeRules {
    init(_ settings: FolderAttributes) {
        func use(_ syncs: Bool, _ sends: Bool) -> Use { syncs ? .synced : sends ? .sent : .none }
        self.init(
            extended: use(settings.syncsXattrs, settings.sendsXattrs),
            owner: use(settings.syncsOwnership, settings.sendsOwnership), filter: settings.filter)
    }
}

extension ProblemText {
    /// The disk of a folder that is to sync extended attributes.
    static let noAttributes =
        Phrase(
            "this disk keeps no extended attributes: those of other devices are not set here, and stay on the other devices; move the folder to "
                + "another disk, or set `sync-xattrs = false` and `send-xattrs = false`")

    /// What is announced of a file and could not be set here; nil for nothing.
    static func missingAttributes(_ owner: UnixOwner?, _ extended: [String]) -> Phrase? {
        var texts: [Phrase] = []
        if let owner {
            let user = owner.ownerName.isEmpty ? String(owner.uid) : owner.ownerName
            let group = owner.groupName.isEmpty ? String(owner.gid) : owner.groupName
            texts.append(
                Phrase(
                    "cannot give it to \(user):\(group); run synctrain as root or with CAP_CHOWN, or set `sync-ownership = false`"
                )
            )
        }
        if !extended.isEmpty {
            let names = list(extended)
            texts.append(
                Phrase(
                    "cannot set the extended attributes \(names): the disk has no room for them or this user may not set them; "
                        + "exclude them in `xattr-filter`, or run synctrain as a user that may"))
        }
        guard let first = texts.first else { return nil }
        return texts.dropFirst().reduce(first) { Phrase("\($0). Also: \($1)") }
    }
}
